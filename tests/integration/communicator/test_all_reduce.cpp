// Sums over whole jobs in one process, against sums computed here.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "job.h"

namespace sumwire::testing {
namespace {

constexpr unsigned world_size = 3;

std::vector<float> exact_reference(std::size_t count, double density, std::uint64_t seed,
                                   ReduceOp op) {
    std::vector<double> sums(count);
    for (unsigned rank = 0; rank < world_size; ++rank) {
        const auto values = gradient(count, rank, density, seed);
        for (std::size_t i = 0; i < count; ++i)
            sums[i] += values[i];
    }
    std::vector<float> result(count);
    for (std::size_t i = 0; i < count; ++i) {
        // The double sum is exact. Its quotient by three cannot lie so close to the middle between
        // two floats that rounding it to double first would matter: that takes more bits than it
        // has.
        result[i] = static_cast<float>(op == ReduceOp::sum ? sums[i] : sums[i] / world_size);
    }
    return result;
}

std::vector<float> rank_order_reference(std::size_t count, double density, std::uint64_t seed,
                                        ReduceOp op) {
    auto sums = gradient(count, 0, density, seed);
    for (unsigned rank = 1; rank < world_size; ++rank) {
        const auto values = gradient(count, rank, density, seed);
        for (std::size_t i = 0; i < count; ++i)
            sums[i] += values[i];
    }
    if (op == ReduceOp::average) {
        for (float& sum : sums)
            sum /= static_cast<float>(world_size);
    }
    return sums;
}

void expect_right(const std::vector<float>& result, std::size_t count, double density,
                  std::uint64_t seed, ReduceOp op, Arithmetic arithmetic) {
    const auto reference = arithmetic == Arithmetic::f32
                               ? rank_order_reference(count, density, seed, op)
                               : exact_reference(count, density, seed, op);
    std::size_t wrong = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i < count; ++i) {
        // fixed32: magnitudes are below 2^10, so the power of two below them is 2^9 at most; one
        // rounding to float comes on top of the stated bound.
        const bool right =
            arithmetic == Arithmetic::fixed32
                ? std::fabs(result[i] - reference[i]) <=
                      3 * std::ldexp(1.0F, 9 - 28) + std::fabs(reference[i]) * 0x1p-23F
                : std::memcmp(&result[i], &reference[i], sizeof(float)) == 0;
        if (!right && wrong++ == 0) first = i;
    }
    EXPECT_EQ(wrong, 0U) << "first at " << first << ": " << result[first] << " instead of "
                         << reference[first];
}

using Way = std::tuple<Codec, Arithmetic>;

class AllReduce : public ::testing::TestWithParam<Way> {};

TEST_P(AllReduce, SumsAndAveragesAnyCountExactly) {
    const auto [codec, arithmetic] = GetParam();
    Options options = in_process_options(world_size);
    options.codec = codec;
    options.arithmetic = arithmetic;
    for (const double density : {0.0, 0.02, 0.3, 1.0}) {
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::average}) {
            SCOPED_TRACE(density);
            options.job = fresh_name();
            run_job(options, [&, op = op](Communicator& communicator) {
                for (const std::size_t count : {1U, 31U, 4097U, 65536U, 65537U, 200'001U}) {
                    auto values = gradient(count, communicator.rank(), density, count);
                    communicator.all_reduce(values.data(), count, DataType::f32, op).wait();
                    expect_right(values, count, density, count, op, arithmetic);
                }
            });
        }
    }
}

TEST_P(AllReduce, RunsManyAtOnceInOrder) {
    const auto [codec, arithmetic] = GetParam();
    Options options = in_process_options(world_size);
    options.codec = codec;
    options.arithmetic = arithmetic;
    run_job(options, [&](Communicator& communicator) {
        constexpr std::size_t tensors = 40;
        std::vector<std::vector<float>> values;
        std::vector<Work> works;
        for (std::size_t i = 0; i < tensors; ++i) {
            const std::size_t count = i % 3 == 0 ? 1000 : 997 * (i + 1);
            values.push_back(gradient(count, communicator.rank(), 0.1, i));
        }
        for (auto& tensor : values) {
            works.push_back(communicator.all_reduce(tensor.data(), tensor.size()));
        }
        communicator.barrier();
        for (std::size_t i = 0; i < tensors; ++i) {
            works[i].wait();
            expect_right(values[i], values[i].size(), 0.1, i, ReduceOp::sum, arithmetic);
        }
    });
}

TEST_P(AllReduce, SurvivesABadNetwork) {
    const auto [codec, arithmetic] = GetParam();
    Options options = in_process_options(world_size);
    options.codec = codec;
    options.arithmetic = arithmetic;
    options.port += ";faults=loss=0.02,duplicate=0.05,reorder=0.05,corrupt=0.01,seed=3";
    run_job(options, [&](Communicator& communicator) {
        for (std::uint64_t step = 0; step < 3; ++step) {
            auto values = gradient(300'000, communicator.rank(), 0.1, step);
            communicator.all_reduce(values.data(), values.size()).wait();
            expect_right(values, values.size(), 0.1, step, ReduceOp::sum, arithmetic);
        }
        EXPECT_GT(communicator.statistics().retransmissions, 0U);
    });
}

std::string name_of(const Way& way) {
    constexpr const char* codecs[] = {"dense", "packed", "sketch"};
    constexpr const char* arithmetics[] = {"exact", "f32", "fixed32"};
    return std::string(codecs[static_cast<int>(std::get<0>(way))]) + "_" +
           arithmetics[static_cast<int>(std::get<1>(way))];
}

INSTANTIATE_TEST_SUITE_P(
    Ways, AllReduce,
    ::testing::Values(Way{Codec::dense, Arithmetic::exact}, Way{Codec::dense, Arithmetic::f32},
                      Way{Codec::dense, Arithmetic::fixed32}, Way{Codec::packed, Arithmetic::exact},
                      Way{Codec::packed, Arithmetic::f32}, Way{Codec::packed, Arithmetic::fixed32},
                      Way{Codec::sketch, Arithmetic::exact},
                      Way{Codec::sketch, Arithmetic::fixed32}),
    [](const auto& instance) { return name_of(instance.param); });

TEST(AllReduceUdp, SumsOverKernelSocketsWithAnEmbeddedAggregator) {
    Options options = in_process_options(world_size);
    options.port = "udp";
    setenv("MASTER_PORT", "31377", 1);
    run_job(options, [&](Communicator& communicator) {
        auto values = gradient(500'000, communicator.rank(), 0.1, 1);
        communicator.all_reduce(values.data(), values.size()).wait();
        expect_right(values, values.size(), 0.1, 1, ReduceOp::sum, Arithmetic::exact);
    });
    unsetenv("MASTER_PORT");
}

TEST(AllReduceUdp, CommunicatorsOfSeveralJobsShareTheEmbeddedAggregator) {
    setenv("MASTER_PORT", "31378", 1);
    Options options = in_process_options(1);
    options.port = "udp";
    options.rank = 0;
    std::vector<float> values(1000, 3.0F);
    std::optional<Communicator> first = Communicator::create(options);
    options.job = fresh_name();
    {
        auto second = Communicator::create(options);
        second.all_reduce(values.data(), values.size()).wait();
        first.reset();
        second.all_reduce(values.data(), values.size()).wait();

        Options pair = options;
        pair.world_size = 2;
        pair.job = fresh_name();
        run_job(pair, [](Communicator& communicator) { communicator.barrier(); });
        second.barrier();
    }
    // The port is free again.
    options.job = fresh_name();
    Communicator::create(options).barrier();
    unsetenv("MASTER_PORT");
}

TEST(AllReduceUdp, ACommunicatorWaitsForAnEmbeddedAggregatorThatLingers) {
    setenv("MASTER_PORT", "31379", 1);
    Options options = in_process_options(2);
    options.port = "udp";
    Options later = options;
    later.world_size = 1;
    later.rank = 0;
    later.job = fresh_name();
    std::atomic<bool> left = false;
    run_job(options, [&](Communicator& communicator) {
        communicator.barrier();
        if (communicator.rank() == 0) return;  // and lingers for this rank
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        std::thread leaver([&, mine = std::move(communicator)]() mutable {
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            left = true;
            const Communicator closed = std::move(mine);
        });
        Communicator::create(later).barrier();
        EXPECT_TRUE(left);
        leaver.join();
    });
    unsetenv("MASTER_PORT");
}

TEST(Communicators, SeveralJobsInOneProcessDoNotMix) {
    std::vector<std::thread> jobs;
    for (std::uint64_t job = 0; job < 3; ++job) {
        jobs.emplace_back([job] {
            run_job(in_process_options(world_size), [&](Communicator& communicator) {
                auto values = gradient(100'000, communicator.rank(), 0.2, 50 + job);
                communicator.all_reduce(values.data(), values.size()).wait();
                expect_right(values, values.size(), 0.2, 50 + job, ReduceOp::sum,
                             Arithmetic::exact);
            });
        });
    }
    for (std::thread& job : jobs)
        job.join();
}

TEST(Communicators, SingleCallsChooseTheirCodec) {
    Options options = in_process_options(world_size);
    options.float_sums = true;
    run_job(options, [&](Communicator& communicator) {
        for (const auto& [codec, arithmetic] :
             {Way{Codec::sketch, Arithmetic::fixed32}, Way{Codec::dense, Arithmetic::f32},
              Way{Codec::packed, Arithmetic::exact}}) {
            auto values = gradient(10'000, communicator.rank(), 0.2, 4);
            communicator
                .all_reduce(values.data(), values.size(), DataType::f32, ReduceOp::sum,
                            {.codec = codec, .arithmetic = arithmetic})
                .wait();
            expect_right(values, values.size(), 0.2, 4, ReduceOp::sum, arithmetic);
        }
    });
}

TEST(Communicators, ABarrierWaitsForEveryRank) {
    std::atomic<unsigned> arrived = 0;
    run_job(in_process_options(world_size), [&](Communicator& communicator) {
        for (unsigned round = 1; round <= 20; ++round) {
            ++arrived;
            communicator.barrier();
            EXPECT_GE(arrived.load(), round * world_size);
        }
    });
}

TEST(Communicators, BuffersAreRegisteredAlignedAndUsable) {
    run_job(in_process_options(world_size), [&](Communicator& communicator) {
        const auto values = gradient(100'000, communicator.rank(), 0.2, 9);
        Buffer buffer = communicator.allocate(values.size() * sizeof(float));
        EXPECT_EQ(buffer.bytes(), values.size() * sizeof(float));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 4096, 0U);
        std::memcpy(buffer.data(), values.data(), buffer.bytes());
        communicator.all_reduce(buffer.data(), values.size()).wait();
        auto* sums = static_cast<const float*>(buffer.data());
        expect_right({sums, sums + values.size()}, values.size(), 0.2, 9, ReduceOp::sum,
                     Arithmetic::exact);

        auto mine = gradient(10'000, communicator.rank(), 0.2, 10);
        const Buffer registered =
            communicator.register_buffer(mine.data(), mine.size() * sizeof(float));
        EXPECT_EQ(registered.data(), mine.data());
        communicator.all_reduce(mine.data() + 1, mine.size() - 1).wait();
    });
}

long locked_kilobytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmLck:")) return std::stol(line.substr(6));
    }
    return -1;
}

TEST(Communicators, BuffersLeaveTheCallersLocksAlone) {
    constexpr std::size_t bytes = 256 * 1024;
    void* const mine = std::aligned_alloc(4096, bytes);
    if (mlock(mine, bytes) != 0) GTEST_SKIP() << "the memlock limit is below 256 KiB";
    const long before = locked_kilobytes();
    run_job(in_process_options(1), [&](Communicator& communicator) {
        { const Buffer first = communicator.register_buffer(mine, bytes); }
        EXPECT_EQ(locked_kilobytes(), before);
        const Buffer second = communicator.register_buffer(mine, bytes);
        EXPECT_FALSE(second.pinned());
        {
            const Buffer ours = communicator.allocate(bytes);
            EXPECT_EQ(locked_kilobytes() - before, ours.pinned() ? 256 : 0);
        }
        EXPECT_EQ(locked_kilobytes(), before);
    });
    munlock(mine, bytes);
    std::free(mine);
}

#if defined(__x86_64__)

TEST(Communicators, SumSubnormalsInAProcessThatFlushesThem) {
    Options options = in_process_options(2);
    options.arithmetic = Arithmetic::f32;
    std::vector<std::vector<float>> values(
        2, std::vector<float>(100, std::numeric_limits<float>::denorm_min()));
    const auto rank = [&](int index) {
        Options mine = options;
        mine.rank = index;
        auto& tensor = values[static_cast<std::size_t>(index)];
        constexpr unsigned flush_and_read_as_zero = 0x8040;
        _mm_setcsr(_mm_getcsr() | flush_and_read_as_zero);
        auto communicator = Communicator::create(mine);
        communicator.all_reduce(tensor.data(), tensor.size()).wait();
        communicator.barrier();
    };
    std::thread first(rank, 0);
    std::thread second(rank, 1);
    first.join();
    second.join();
    for (const auto& tensor : values) {
        for (const float sum : tensor)
            ASSERT_EQ(sum, 2 * std::numeric_limits<float>::denorm_min());
    }
}

#endif

}  // namespace
}  // namespace sumwire::testing
