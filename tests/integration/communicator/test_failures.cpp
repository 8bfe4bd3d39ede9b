// What a caller sees when things go wrong: a named error with a remedy, on time, and no hang.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "job.h"

namespace sumwire::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

template <class E, class F>
std::string message_of(F&& f) {
    try {
        f();
    } catch (const E& error) {
        return error.what();
    } catch (const std::exception& error) {
        return std::string("another error: ") + error.what();
    }
    return "no error";
}

Options rank_options(const Options& options, int rank) {
    Options mine = options;
    mine.rank = rank;
    return mine;
}

TEST(Failures, NoAggregatorThere) {
    Options options = rank_options(in_process_options(2), 1);
    options.port = "udp";
    options.aggregator = "127.0.0.1:9";
    options.join_timeout = 300ms;
    EXPECT_THAT(message_of<SetupError>([&] { Communicator::create(options); }),
                AllOf(HasSubstr("127.0.0.1:9"), HasSubstr("sumwire-aggregator")));
}

TEST(Failures, AMissingRankIsNamed) {
    Options options = rank_options(in_process_options(3), 0);
    options.join_timeout = 500ms;
    options.peer_timeout = 500ms;
    EXPECT_THAT(message_of<DeadlineExceeded>([&] { Communicator::create(options); }),
                AllOf(HasSubstr("rank 1"), HasSubstr("1 of 3")));
}

TEST(Failures, RanksWithDifferentWorldSizes) {
    Options options = in_process_options(2);
    options.join_timeout = 2s;
    auto first = std::async(std::launch::async, [&] {
        return message_of<Error>([&] { Communicator::create(rank_options(options, 0)); });
    });
    Options other = rank_options(options, 1);
    other.world_size = 3;
    EXPECT_THAT(message_of<SetupError>([&] { Communicator::create(other); }),
                AllOf(HasSubstr("world size"), HasSubstr("2"), HasSubstr("3")));
    first.wait();
}

TEST(Failures, ARankThatIsThereTwice) {
    const Options options = in_process_options(2);
    std::promise<void> release;
    auto running = std::async(std::launch::async, [&] {
        run_job(options, [&](Communicator& communicator) {
            if (communicator.rank() == 0) release.get_future().wait();
            communicator.barrier();
        });
    });
    Options rival = rank_options(options, 1);
    rival.aggregator = "127.0.0.1:21335";
    rival.join_timeout = 5s;
    std::string message;
    // Until the job runs, the rival may be taken for the rank itself, or find nobody.
    for (int attempt = 0; attempt < 20; ++attempt) {
        message = message_of<SetupError>([&] { Communicator::create(rival); });
        if (message.find("rank 1") != std::string::npos) break;
    }
    release.set_value();
    try {
        running.get();
    } catch (const Error&) {
        // If the rival came first, the rank itself was refused.
    }
    EXPECT_THAT(message, HasSubstr("rank 1"));
}

TEST(Failures, ALeavingRankFailsTheOthersByName) {
    Options options = in_process_options(3);
    options.peer_timeout = 1s;
    std::vector<std::string> messages(3);
    std::vector<int> lost(3, -1);
    run_job(options, [&](Communicator& communicator) {
        communicator.barrier();
        if (communicator.rank() == 2) return;
        std::vector<float> values(100'000, 1.0F);
        messages[communicator.rank()] = message_of<PeerLost>([&] {
            try {
                communicator.all_reduce(values.data(), values.size()).wait();
            } catch (const PeerLost& error) {
                lost[communicator.rank()] = static_cast<int>(error.rank());
                throw;
            }
        });
        EXPECT_THROW(communicator.barrier(), PeerLost) << "it is over for good";
    });
    EXPECT_EQ(lost[0], 2) << messages[0];
    EXPECT_EQ(lost[1], 2) << messages[1];
}

TEST(Failures, ADeadlineNamesTheRankThatIsLate) {
    Options options = in_process_options(3);
    options.deadline = 700ms;
    std::promise<void> release;
    auto released = release.get_future().share();
    std::atomic<int> failed = 0;
    run_job(options, [&](Communicator& communicator) {
        communicator.barrier();
        if (communicator.rank() == 1) {
            released.wait();
            return;
        }
        std::vector<float> values(1000, 1.0F);
        const auto begin = std::chrono::steady_clock::now();
        const std::string message = message_of<DeadlineExceeded>(
            [&] { communicator.all_reduce(values.data(), values.size()).wait(); });
        EXPECT_THAT(message, AllOf(HasSubstr("waits for rank 1"), HasSubstr("1000 elements")));
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
        if (++failed == 2) release.set_value();
    });
}

TEST(Failures, ARankThatBreaksLeavesAtOnce) {
    Options options = in_process_options(2);
    options.deadline = 8s;
    std::promise<void> release;
    auto released = release.get_future().share();
    run_job(options, [&](Communicator& communicator) {
        // Against the contract: the ranks call different collectives.
        std::vector<float> values(20, 1.0F);
        if (communicator.rank() == 1) {
            EXPECT_THAT(message_of<ProtocolError>([&] {
                            communicator
                                .all_reduce(values.data(), 17, DataType::f32, ReduceOp::average,
                                            Codec::dense, Arithmetic::exact)
                                .wait();
                        }),
                        AllOf(HasSubstr("contradicts"), HasSubstr("rank 1 of 2")));
            released.wait();
            return;
        }
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_THAT(message_of<PeerLost>([&] {
                        communicator
                            .all_reduce(values.data(), 20, DataType::f32, ReduceOp::sum,
                                        Codec::dense, Arithmetic::exact)
                            .wait();
                        communicator.barrier();
                    }),
                    HasSubstr("rank 1 left"));
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s);
        release.set_value();
    });
}

TEST(Failures, TimesThatNeverCome) {
    Options options = in_process_options(2);
    options.deadline = std::chrono::milliseconds::max();
    options.join_timeout = std::chrono::milliseconds::max();
    run_job(options, [](Communicator& communicator) {
        std::vector<float> values(1'000'000, 1.0F);
        const Work work = communicator.all_reduce(values.data(), values.size());
        EXPECT_TRUE(work.wait_for(std::chrono::nanoseconds::max()));
        communicator.barrier();
    });
}

TEST(Failures, WrongArguments) {
    run_job(in_process_options(1), [](Communicator& communicator) {
        std::vector<float> values(8);
        EXPECT_THAT(message_of<SetupError>([&] { communicator.all_reduce(nullptr, 5); }),
                    HasSubstr("null pointer"));
        EXPECT_THAT(message_of<SetupError>([&] {
                        communicator.all_reduce(reinterpret_cast<char*>(values.data()) + 2, 5);
                    }),
                    HasSubstr("aligned"));
        EXPECT_THAT(message_of<SetupError>([&] {
                        communicator.all_reduce(values.data(), 5, DataType::f32, ReduceOp::sum,
                                                Codec::dense, Arithmetic::f32);
                    }),
                    HasSubstr("float_sums"));
        EXPECT_THAT(message_of<SetupError>([&] { communicator.register_buffer(nullptr, 5); }),
                    HasSubstr("register_buffer"));
        communicator.all_reduce(nullptr, 0).wait();
    });
}

TEST(Failures, APayloadThatThePortCannotCarry) {
    Options options = rank_options(in_process_options(1), 0);
    options.port += ";mtu=1500";
    options.payload_bytes = 4096;
    EXPECT_THAT(message_of<SetupError>([&] { Communicator::create(options); }),
                AllOf(HasSubstr("4096"), HasSubstr("MTU")));
}

TEST(Failures, AnMtuTooSmallToJoin) {
    Options options = rank_options(in_process_options(1), 0);
    options.port += ";mtu=137";
    EXPECT_THAT(message_of<SetupError>([&] { Communicator::create(options); }),
                AllOf(HasSubstr("MTU"), HasSubstr("138")));
}

TEST(Failures, ThePortIsNamedWhenItCannotBeOpened) {
    Options options = rank_options(in_process_options(1), 0);
    options.aggregator = "127.0.0.1";
    options.port = "carrier-pigeon";
    EXPECT_THAT(message_of<SetupError>([&] { Communicator::create(options); }),
                HasSubstr("carrier-pigeon"));
}

TEST(Works, CallBackFromTheProgressThreadWhichMayCloseTheCommunicator) {
    std::promise<bool> called;
    std::optional<Communicator> communicator =
        Communicator::create(rank_options(in_process_options(1), 0));
    std::vector<float> values(100'000, 2.0F);
    Work work = communicator->all_reduce(values.data(), values.size());
    work.then([&](const std::exception_ptr& failure) {
        communicator.reset();
        called.set_value(failure == nullptr);
    });
    EXPECT_TRUE(called.get_future().get());
    EXPECT_TRUE(work.done());
    EXPECT_EQ(values[99'999], 2.0F);
}

TEST(Works, GoOnWhenCallbacksThrow) {
    Options options = in_process_options(2);
    std::mutex mutex;
    std::vector<std::string> warnings;
    options.log = [&](LogLevel level, std::string_view text) {
        const std::lock_guard lock(mutex);
        if (level == LogLevel::warning) warnings.emplace_back(text);
    };
    const auto thrower = [](const std::exception_ptr&) { throw std::runtime_error("thrown here"); };
    std::promise<void> late;
    run_job(options, [&](Communicator& communicator) {
        std::vector<float> values(100'000, 1.0F);
        for (int i = 0; i < 3; ++i) {
            const Work work = communicator.all_reduce(values.data(), values.size());
            work.then(thrower);
            work.wait();
            work.then(thrower);
        }
        EXPECT_EQ(values[0], 8.0F);
        communicator.barrier();
        if (communicator.rank() == 1) return;
        const Work failing = communicator.all_reduce(values.data(), values.size());
        failing.then(thrower);
        failing.then([&](const std::exception_ptr& failure) {
            EXPECT_NE(failure, nullptr);
            late.set_value();
        });
        EXPECT_THROW(failing.wait(), PeerLost);
        late.get_future().wait();
    });
    EXPECT_EQ(warnings.size(), 13U);
    EXPECT_THAT(warnings, ::testing::Each(HasSubstr("thrown here")));
}

TEST(Works, FailWhenTheCommunicatorIsClosed) {
    Work work;
    std::vector<float> values(1000, 1.0F);
    run_job(in_process_options(2), [&](Communicator& communicator) {
        if (communicator.rank() == 0) work = communicator.all_reduce(values.data(), values.size());
        if (communicator.rank() == 1) {
            // Holds its contribution back until rank 0 is gone.
            EXPECT_THROW(communicator.barrier(), Error);
        }
    });
    EXPECT_THAT(message_of<Error>([&] { work.wait(); }), HasSubstr("closed"));
}

}  // namespace
}  // namespace sumwire::testing
