// Every element type and reduction over whole jobs, and the codec chosen by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "job.h"

namespace sumwire::testing {
namespace {

constexpr unsigned world_size = 3;
constexpr std::size_t count = 70'001;  // a chunk and a part of one

template <class T>
std::vector<T> integers(unsigned rank) {
    std::mt19937_64 random(17 + rank);
    std::vector<T> values(count);
    for (T& value : values)
        value = random() % 4 == 0 ? static_cast<T>(random()) : 0;
    values[5] = std::numeric_limits<T>::max();
    values[6] = std::numeric_limits<T>::min();
    return values;
}

// Wide enough for the true sum of the ranks.
template <class T>
T expected_integer(const std::vector<std::vector<T>>& ranks, std::size_t i, ReduceOp op) {
    __extension__ using Wide = __int128;
    Wide sum = 0;
    T least = ranks[0][i];
    T most = ranks[0][i];
    for (const auto& values : ranks) {
        sum += values[i];
        least = std::min(least, values[i]);
        most = std::max(most, values[i]);
    }
    const T wrapped = static_cast<T>(sum);
    switch (op) {
        case ReduceOp::sum:
            return wrapped;
        case ReduceOp::average:
            return static_cast<T>(wrapped / static_cast<T>(ranks.size()));
        case ReduceOp::minimum:
            return least;
        case ReduceOp::maximum:
            return most;
    }
    return 0;
}

template <class T>
void check_integers(DataType type) {
    std::vector<std::vector<T>> ranks;
    for (unsigned rank = 0; rank < world_size; ++rank)
        ranks.push_back(integers<T>(rank));
    run_job(in_process_options(world_size), [&](Communicator& communicator) {
        for (const ReduceOp op :
             {ReduceOp::sum, ReduceOp::average, ReduceOp::minimum, ReduceOp::maximum}) {
            std::vector<T> values = ranks[communicator.rank()];
            communicator.all_reduce(values.data(), count, type, op).wait();
            for (std::size_t i = 0; i < count; ++i)
                ASSERT_EQ(values[i], expected_integer(ranks, i, op)) << i;
        }
    });
}

TEST(ElementTypes, Int32) {
    check_integers<std::int32_t>(DataType::i32);
}

TEST(ElementTypes, Int64) {
    check_integers<std::int64_t>(DataType::i64);
}

TEST(ElementTypes, Float64IsSummedInRankOrder) {
    Options options = in_process_options(world_size);
    options.float_sums = true;
    const auto values_of = [](unsigned rank) {
        std::mt19937_64 random(rank);
        std::normal_distribution<double> normal;
        std::vector<double> values(count);
        for (double& value : values)
            value = std::ldexp(normal(random), static_cast<int>(random() % 60));
        return values;
    };
    run_job(options, [&](Communicator& communicator) {
        std::vector<double> values = values_of(communicator.rank());
        communicator.all_reduce(values.data(), count, DataType::f64).wait();
        std::vector<double> sums = values_of(0);
        for (unsigned rank = 1; rank < world_size; ++rank) {
            const auto more = values_of(rank);
            for (std::size_t i = 0; i < count; ++i)
                sums[i] += more[i];
        }
        ASSERT_EQ(values, sums);
    });
}

// Whole numbers below 256, which bfloat16 and float16 hold exactly, as do their sums up to 256.
TEST(ElementTypes, HalfFloats) {
    const auto number = [](unsigned rank, std::size_t i) {
        return static_cast<float>((i * 7 + rank * 13) % 86);
    };
    const auto bf16 = [](float value) {
        return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16U);
    };
    const auto f16 = [](float value) {
        if (value == 0) return std::uint16_t{0};
        const auto bits = std::bit_cast<std::uint32_t>(value);
        return static_cast<std::uint16_t>(((bits >> 23U) - 127 + 15) << 10U |
                                          (bits >> 13U & 0x3ffU));
    };
    run_job(in_process_options(world_size), [&](Communicator& communicator) {
        std::vector<std::uint16_t> brain(count);
        std::vector<std::uint16_t> half(count);
        for (std::size_t i = 0; i < count; ++i) {
            brain[i] = bf16(number(communicator.rank(), i));
            half[i] = f16(number(communicator.rank(), i));
        }
        communicator.all_reduce(brain.data(), count, DataType::bf16).wait();
        communicator.all_reduce(half.data(), count, DataType::f16).wait();
        for (std::size_t i = 0; i < count; ++i) {
            const float sum = number(0, i) + number(1, i) + number(2, i);
            ASSERT_EQ(brain[i], bf16(sum)) << i;
            ASSERT_EQ(half[i], f16(sum)) << i;
        }
    });
}

TEST(ElementTypes, MinimumAndMaximumOfFloats) {
    run_job(in_process_options(world_size), [&](Communicator& communicator) {
        for (const ReduceOp op : {ReduceOp::minimum, ReduceOp::maximum}) {
            auto values = gradient(count, communicator.rank(), 0.5, 3);
            communicator.all_reduce(values.data(), count, DataType::f32, op).wait();
            auto expected = gradient(count, 0, 0.5, 3);
            for (unsigned rank = 1; rank < world_size; ++rank) {
                const auto more = gradient(count, rank, 0.5, 3);
                for (std::size_t i = 0; i < count; ++i) {
                    expected[i] = op == ReduceOp::minimum ? std::min(expected[i], more[i])
                                                          : std::max(expected[i], more[i]);
                }
            }
            ASSERT_EQ(values, expected);
        }
    });
}

// What a codec is chosen by is known from some 32 chunks before.
constexpr unsigned lead = 40;

TEST(AutomaticCodec, PacksSparseTensors) {
    constexpr std::size_t elements = 3 * 65'536;
    run_job(in_process_options(2), [&](Communicator& communicator) {
        for (unsigned step = 0; step < lead; ++step) {
            auto values = gradient(elements, communicator.rank(), 0.02, step);
            const auto other = gradient(elements, 1 - communicator.rank(), 0.02, step);
            std::vector<float> expected(elements);
            for (std::size_t i = 0; i < elements; ++i)
                expected[i] = static_cast<float>(double{values[i]} + other[i]);
            communicator.all_reduce(values.data(), elements).wait();
            ASSERT_EQ(values, expected);
        }
        communicator.barrier();
        const Statistics statistics = communicator.statistics();
        EXPECT_EQ(statistics.packed_chunks, statistics.chunks);
        EXPECT_EQ(statistics.chunks, lead * 3);
    });
}

// A small full tensor saves a round trip by travelling dense; another tag's sparse one of the same
// count does not count for it.
TEST(AutomaticCodec, SendsSmallFullTensorsDense) {
    constexpr std::size_t elements = 1000;
    Options options = in_process_options(2);
    options.arithmetic = Arithmetic::f32;
    run_job(options, [&](Communicator& communicator) {
        for (unsigned step = 0; step < 2 * lead; ++step) {
            std::vector<float> full(elements, 1.0F);
            std::vector<float> empty(elements);
            communicator.all_reduce(full.data(), elements, DataType::f32, ReduceOp::sum, {.tag = 1})
                .wait();
            communicator
                .all_reduce(empty.data(), elements, DataType::f32, ReduceOp::sum, {.tag = 2})
                .wait();
            ASSERT_EQ(full, std::vector<float>(elements, 2.0F));
            ASSERT_EQ(empty, std::vector<float>(elements));
        }
        communicator.barrier();
        const Statistics statistics = communicator.statistics();
        EXPECT_GE(statistics.dense_chunks, lead / 2);
        EXPECT_GE(statistics.packed_chunks, 2 * lead);
        EXPECT_EQ(statistics.dense_chunks + statistics.packed_chunks, statistics.chunks);
    });
}

}  // namespace
}  // namespace sumwire::testing
