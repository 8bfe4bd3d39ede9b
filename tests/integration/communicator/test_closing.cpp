// Closing a communicator at the worst moment: with operations under way, from callbacks, at exit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "job.h"

namespace sumwire::testing {
namespace {

using namespace std::chrono_literals;

// Makes this thread slow wherever it takes a lock.
thread_local bool slow_at_locks = false;

}  // namespace
}  // namespace sumwire::testing

#if !defined(__SANITIZE_THREAD__)  // which needs its own pthread_mutex_lock

#include <dlfcn.h>
#include <pthread.h>

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    using Lock = int (*)(pthread_mutex_t*);
    static const Lock real = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    if (sumwire::testing::slow_at_locks) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return real(mutex);
}

#endif

namespace sumwire::testing {
namespace {

TEST(Closing, FailsWhatIsUnderWayHoweverSlowlyItCloses) {
    std::promise<void> release;
    Work work;
    std::vector<float> values(1000, 1.0F);
    Options options = in_process_options(2);
    std::thread peer([&] {
        Options mine = options;
        mine.rank = 1;
        const auto communicator = Communicator::create(mine);
        release.get_future().wait();
    });
    options.rank = 0;
    {
        auto communicator = Communicator::create(options);
        work = communicator.all_reduce(values.data(), values.size());
        std::thread closer([mine = std::move(communicator)]() mutable {
            slow_at_locks = true;
            const Communicator closed = std::move(mine);
        });
        EXPECT_THROW(work.wait(), Error) << "the other rank has contributed nothing";
        release.set_value();
        closer.join();
    }
    peer.join();
}

// One rank's part of a job that is closed at any time. Works that report success must have summed.
void reduce_and_close(const Options& options, std::chrono::microseconds until_closed) {
    constexpr std::size_t tensors = 12;
    const auto world_size = static_cast<float>(options.world_size);
    std::vector<std::vector<float>> values;
    for (std::size_t i = 0; i < tensors; ++i)
        values.emplace_back(i % 4 == 3 ? 300'000 : 1000 * (i + 1), static_cast<float>(i + 1));
    std::vector<Work> works;
    std::atomic<std::size_t> called = 0;
    try {
        auto communicator = Communicator::create(options);
        for (auto& tensor : values) {
            works.push_back(communicator.all_reduce(tensor.data(), tensor.size()));
            works.back().then([&](const std::exception_ptr&) { ++called; });
        }
        std::this_thread::sleep_for(until_closed);
    } catch (const PeerLost&) {
        // Another rank has closed already.
    }
    EXPECT_EQ(called, works.size());
    for (std::size_t i = 0; i < works.size(); ++i) {
        ASSERT_TRUE(works[i].done());
        try {
            works[i].wait();
            EXPECT_THAT(values[i], ::testing::Each(world_size * static_cast<float>(i + 1)));
        } catch (const Error&) {
        }
    }
}

TEST(Closing, AtAnyTimeEndsEveryOperationOnceAndTruly) {
    // Keeps the embedded aggregator, which would stay for two seconds after each loss otherwise.
    Options keeper = in_process_options(1);
    keeper.rank = 0;
    const auto kept = Communicator::create(keeper);

    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        Options options = in_process_options(3);
        options.port = keeper.port;
        std::vector<std::thread> ranks;
        for (int rank = 0; rank < options.world_size; ++rank) {
            Options mine = options;
            mine.rank = rank;
            ranks.emplace_back(reduce_and_close, mine, std::chrono::microseconds(random() % 8000));
        }
        for (std::thread& rank : ranks)
            rank.join();
    }
}

TEST(Closing, WhileOtherThreadsSubmitGivesThemAnError) {
    for (int round = 0; round < 10; ++round) {
        Options options = in_process_options(1);
        options.rank = 0;
        std::optional<Communicator> communicator = Communicator::create(options);
        std::vector<float> values(100, 1.0F);
        // From the progress thread, where submissions and the closing meet.
        std::promise<bool> refused;
        communicator->all_reduce(values.data(), values.size()).then([&](const std::exception_ptr&) {
            const Work pending = communicator->all_reduce(values.data(), values.size());
            pending.then(
                [&](const std::exception_ptr& failure) { refused.set_value(failure != nullptr); });
            communicator.reset();
        });
        EXPECT_TRUE(refused.get_future().get());
    }
}

std::atomic<bool> callback_ended = false;

[[noreturn]] void close_from_a_callback_and_exit() {
    // Runs after what the library registers later.
    std::atexit([] { std::_Exit(callback_ended ? 0 : 1); });
    Options options = in_process_options(1);
    options.rank = 0;
    static std::optional<Communicator> communicator = Communicator::create(options);
    static std::promise<void> closed;
    static std::vector<float> values(10, 1.0F);
    communicator->all_reduce(values.data(), values.size()).then([](const std::exception_ptr&) {
        communicator.reset();
        closed.set_value();
        std::this_thread::sleep_for(300ms);
        callback_ended = true;
    });
    closed.get_future().wait();
    std::exit(0);
}

TEST(Closing, FromACallbackLetsTheProcessExitOnlyAfterTheThread) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(close_from_a_callback_and_exit(), ::testing::ExitedWithCode(0), "");
}

[[noreturn]] void exit_from_a_callback() {
    Options options = in_process_options(1);
    options.rank = 0;
    static std::optional<Communicator> communicator = Communicator::create(options);
    static std::vector<float> values(10, 1.0F);
    communicator->all_reduce(values.data(), values.size()).then([](const std::exception_ptr&) {
        communicator.reset();
        std::exit(0);
    });
    std::this_thread::sleep_for(60s);
    std::_Exit(1);
}

TEST(Closing, FromACallbackThatExitsDoesNotHang) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(exit_from_a_callback(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sumwire::testing
