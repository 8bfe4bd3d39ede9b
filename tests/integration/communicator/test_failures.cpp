// What a caller sees when things go wrong: a named error with a remedy, on time, and no hang.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "job.h"
#include "nic/port_spec.h"
#include "switch_emu/aggregator_loop.h"

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
        EXPECT_THAT(message, AllOf(HasSubstr("waits for rank 1"), HasSubstr("1000 f32 elements")));
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
        if (++failed == 2) release.set_value();
    });
}

// What rank 1 calls while rank 0 sums twenty floats, packed and exact, and what the error names.
struct Difference {
    const char* name;
    std::size_t count = 20;
    DataType type = DataType::f32;
    ReduceOp op = ReduceOp::sum;
    CallOptions call{.codec = Codec::packed};
};

class RanksThatDiffer : public ::testing::TestWithParam<Difference> {};

TEST_P(RanksThatDiffer, AreToldInWhatBeforeAnythingChanges) {
    const Difference& other = GetParam();
    Options options = in_process_options(2);
    options.deadline = 8s;
    options.float_sums = true;
    run_job(options, [&](Communicator& communicator) {
        std::vector<float> values(40, 1.0F);
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_THAT(message_of<ProtocolError>([&] {
                        const Difference mine = communicator.rank() == 1 ? other : Difference{""};
                        communicator
                            .all_reduce(values.data(), mine.count, mine.type, mine.op, mine.call)
                            .wait();
                    }),
                    AllOf(HasSubstr(other.name), HasSubstr("every rank must call the same"),
                          HasSubstr("of 2, ")));
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s);
        EXPECT_THAT(values, ::testing::Each(1.0F));
    });
}

INSTANTIATE_TEST_SUITE_P(
    Failures, RanksThatDiffer,
    ::testing::Values(Difference{"differs in the count of elements", 17},
                      Difference{"differs in the count of elements", 0},
                      Difference{"differs in the data type", 20, DataType::i32},
                      Difference{"differs in the data type", 20, DataType::bf16},
                      Difference{"differs in the operation", 20, DataType::f32, ReduceOp::average},
                      Difference{"differs in the operation", 20, DataType::f32, ReduceOp::maximum},
                      Difference{"differs in the codec", 20, DataType::f32, ReduceOp::sum, {}},
                      Difference{"differs in the arithmetic",
                                 20,
                                 DataType::f32,
                                 ReduceOp::sum,
                                 {.codec = Codec::packed, .arithmetic = Arithmetic::f32}},
                      Difference{"differs in the tag",
                                 20,
                                 DataType::f32,
                                 ReduceOp::sum,
                                 {.codec = Codec::packed, .tag = 4}}));

TEST(Failures, AnAllReduceAgainstABarrier) {
    run_job(in_process_options(2), [](Communicator& communicator) {
        std::vector<float> values(20, 1.0F);
        EXPECT_THAT(message_of<ProtocolError>([&] {
                        if (communicator.rank() == 0) communicator.barrier();
                        communicator.all_reduce(values.data(), 20).wait();
                    }),
                    HasSubstr("all_reduce or barrier"));
    });
}

TEST(Failures, WaitingInACallback) {
    run_job(in_process_options(2), [](Communicator& communicator) {
        std::vector<float> values(20, 1.0F);
        std::promise<std::string> told;
        communicator.all_reduce(values.data(), 20).then([&](const std::exception_ptr&) {
            told.set_value(message_of<Error>([&] { communicator.barrier(); }));
        });
        EXPECT_THAT(told.get_future().get(), HasSubstr("Work::then"));
        communicator.barrier();
    });
}

TEST(Failures, AMovedFromCommunicator) {
    run_job(in_process_options(1), [](Communicator& communicator) {
        Communicator other = std::move(communicator);
        EXPECT_THAT(message_of<Error>([&] { communicator.barrier(); }), HasSubstr("moved from"));
        EXPECT_THAT(message_of<Error>([&] { communicator.rank(); }), HasSubstr("moved from"));
        other.barrier();
    });
}

TEST(Failures, AnAggregatorThatIsShutDown) {
    Options options = in_process_options(2);
    options.aggregator = "127.0.0.1";
    const auto port = nic::open_port(options.port + ";ip=127.0.0.1",
                                     {.udp_port = nic::default_udp_port, .peer = {}});
    aggregator::AggregatorLoop loop(*port, {});
    std::jthread aggregator([&](const std::stop_token& stop) { loop.run(stop); });
    std::atomic<int> waiting = 0;
    run_job(options, [&](Communicator& communicator) {
        communicator.barrier();
        if (++waiting == 2) aggregator.request_stop();
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_THAT(message_of<AggregatorLost>([&] {
                        while (true)
                            communicator.barrier();
                    }),
                    HasSubstr("shut down"));
        EXPECT_LT(std::chrono::steady_clock::now() - begin, 3s) << "before the peer timeout";
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
                                                {.arithmetic = Arithmetic::f32});
                    }),
                    HasSubstr("float_sums"));
        EXPECT_THAT(message_of<SetupError>(
                        [&] { communicator.all_reduce(values.data(), 2, DataType::f64); }),
                    AllOf(HasSubstr("float_sums"), HasSubstr("f64")));
        EXPECT_THAT(message_of<SetupError>([&] {
                        communicator.all_reduce(values.data(), 2, DataType::i32, ReduceOp::sum,
                                                {.codec = Codec::sketch});
                    }),
                    HasSubstr("another codec"));
        EXPECT_THAT(
            message_of<SetupError>([&] { communicator.all_reduce(values.data(), SIZE_MAX); }),
            HasSubstr("check the count"));
        EXPECT_THAT(message_of<SetupError>([&] { communicator.allocate(std::size_t{1} << 60U); }),
                    HasSubstr("ask for less"));
        EXPECT_EQ(Buffer().data(), nullptr);
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
