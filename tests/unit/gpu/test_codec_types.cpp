// Types other than float32, and minima and maxima.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "gpu/codec/half_floats.h"
#include "tests/unit/gpu/support/inputs.h"
#include "tests/unit/gpu/support/references.h"

namespace sumwire::gpu::testing {
namespace {

template <typename T>
using Ranks = std::vector<std::vector<T>>;

// Every rank's result, which must be the same bits.
template <typename T>
std::vector<T> reduce(CodecConfig config, Ranks<T> ranks, Reduction reduction) {
    config.world_size = static_cast<std::uint32_t>(ranks.size());
    config.extrema = is_extremum(reduction);
    std::vector<std::unique_ptr<ChunkCodec>> codecs;
    for (auto& values : ranks) {
        codecs.push_back(make_chunk_codec(host_device(), config));
        ChunkTask task;
        task.values = values.data();
        task.count = static_cast<std::uint32_t>(values.size());
        task.reduction = reduction;
        task.seed = 7;
        task.expected_union = ChunkTask::unknown_union;
        EXPECT_EQ(codecs.back()->begin(task), Progress::exchange);
    }
    Progress progress = Progress::exchange;
    for (unsigned round = 0; progress == Progress::exchange && round < 5; ++round) {
        for (std::size_t m = 0; m < codecs.front()->messages().size(); ++m) {
            EXPECT_EQ(codecs.front()->messages()[m].bytes.size() % 4, 0u);
            combine_message(codecs, m);
        }
        for (const auto& codec : codecs)
            progress = codec->advance();
    }
    EXPECT_EQ(progress, Progress::done);
    for (const auto& values : ranks) {
        EXPECT_EQ(std::memcmp(values.data(), ranks[0].data(), values.size() * sizeof(T)), 0);
    }
    return ranks[0];
}

// binary16 and bfloat16 for MPFR: digits, and the exponents of the smallest subnormal and of
// infinity, of significands below one.
struct Format {
    DataType type;
    int precision;
    int least_exponent;
    int infinite_exponent;
    void (*widen)(std::span<const std::uint16_t>, std::span<float>);
};
const Format formats[] = {{DataType::f16, 11, -23, 16, widen_f16},
                          {DataType::bf16, 8, -132, 128, widen_bf16}};

double round_to(Real& sum, std::uint32_t divisor, const Format& format) {
    const auto emin = mpfr_get_emin();
    const auto emax = mpfr_get_emax();
    mpfr_t rounded;
    mpfr_init2(rounded, format.precision);
    mpfr_set_emin(format.least_exponent);
    mpfr_set_emax(format.infinite_exponent);
    int direction = mpfr_div_ui(rounded, sum, divisor, MPFR_RNDN);
    direction = mpfr_check_range(rounded, direction, MPFR_RNDN);
    mpfr_subnormalize(rounded, direction, MPFR_RNDN);
    const double result = mpfr_get_d(rounded, MPFR_RNDN);
    mpfr_clear(rounded);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    return result;
}

class HalfTypes : public ::testing::TestWithParam<std::tuple<Codec, std::size_t>> {};

TEST_P(HalfTypes, ExactSumsAreRoundedOnceToTheType) {
    const auto [codec, f] = GetParam();
    const Format& format = formats[f];
    std::mt19937_64 random(11);
    for (const std::uint32_t world_size : {1u, 2u, 3u, 7u}) {
        for (unsigned kind = 0; kind < 3; ++kind) {
            Ranks<std::uint16_t> ranks(world_size, std::vector<std::uint16_t>(1500));
            Ranks<float> wide(world_size, std::vector<float>(1500));
            for (std::uint32_t r = 0; r < world_size; ++r) {
                for (std::uint16_t& half : ranks[r]) {
                    if (random() % 3 == 0) continue;
                    half = static_cast<std::uint16_t>(random());
                    // Of similar size, so that sums round; subnormals.
                    if (kind == 1)
                        half = (half & 0x83ff) | (format.precision == 8 ? 0x3f00 : 0x3c00);
                    if (kind == 2) half &= 0x80ff;
                }
                format.widen(ranks[r], wide[r]);
            }
            for (const Reduction reduction : {Reduction::sum, Reduction::average}) {
                const auto results =
                    reduce({codec, Arithmetic::exact, 1, format.type}, ranks, reduction);
                std::vector<float> actual(results.size());
                format.widen(results, actual);
                Real sum;
                for (std::size_t i = 0; i < actual.size(); ++i) {
                    mpfr_set_zero(sum, 1);
                    for (const auto& values : wide) {
                        Real term;
                        mpfr_set_flt(term, values[i], MPFR_RNDN);
                        mpfr_add(sum, sum, term, MPFR_RNDN);
                    }
                    if (mpfr_nan_p(static_cast<mpfr_ptr>(sum)) != 0) {
                        ASSERT_TRUE(std::isnan(actual[i]));
                        continue;
                    }
                    const bool average = reduction == Reduction::average;
                    ASSERT_EQ(actual[i], round_to(sum, average ? world_size : 1, format))
                        << "element " << i << " of kind " << kind;
                }
            }
        }
    }
}

// Sums that lie just beside the middle of two values: rounding to float on the way would lose on
// which side.
TEST_P(HalfTypes, NeverRoundTwice) {
    const auto [codec, f] = GetParam();
    const Format& format = formats[f];
    if (format.type != DataType::bf16) return;  // float16's exponents do not reach that far
    // 1, half a unit of 1 in bfloat16, and far less than float tells beside 1.
    const Ranks<std::uint16_t> ranks = {{0x3f80}, {0x3b80}, {0x2f80}};
    EXPECT_EQ(reduce({codec, Arithmetic::exact, 1, format.type}, ranks, Reduction::sum)[0], 0x3f81);
    const Ranks<std::uint16_t> below = {{0x3f80}, {0x3b80}, {0xaf80}};
    EXPECT_EQ(reduce({codec, Arithmetic::exact, 1, format.type}, below, Reduction::sum)[0], 0x3f80);
}

INSTANTIATE_TEST_SUITE_P(All, HalfTypes,
                         ::testing::Combine(::testing::Values(Codec::dense, Codec::packed,
                                                              Codec::sketch),
                                            ::testing::Values(0, 1)));

TEST(HalfTypesInFloat, AreSummedInRankOrderAndRoundedOnce) {
    std::mt19937_64 random(12);
    Ranks<std::uint16_t> ranks(4, std::vector<std::uint16_t>(999));
    Gradients wide(4, std::vector<float>(999));
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        for (std::uint16_t& half : ranks[r])
            half = static_cast<std::uint16_t>((random() & 0x83ff) | 0x3c00);
        widen_f16(ranks[r], wide[r]);
    }
    const std::vector<float> sums = float_reference(wide, Reduction::sum);
    std::vector<std::uint16_t> expected(sums.size());
    narrow_f16(sums, expected);
    for (const Codec codec : {Codec::dense, Codec::packed}) {
        EXPECT_EQ(reduce({codec, Arithmetic::f32, 1, DataType::f16}, ranks, Reduction::sum),
                  expected);
    }
}

template <typename T>
T any_integer(std::mt19937_64& random) {
    return static_cast<T>(random() % 4 == 0 ? 0 : random());
}

template <typename T>
void check_integers(DataType type) {
    using Unsigned = std::make_unsigned_t<T>;
    std::mt19937_64 random(13);
    for (const Codec codec : {Codec::dense, Codec::packed}) {
        for (const std::uint32_t world_size : {1u, 2u, 5u}) {
            Ranks<T> ranks(world_size, std::vector<T>(1000));
            for (auto& values : ranks)
                std::ranges::generate(values, [&] { return any_integer<T>(random); });
            std::vector<T> sums(1000);
            std::vector<T> averages(1000);
            for (std::size_t i = 0; i < sums.size(); ++i) {
                Unsigned sum = 0;
                for (const auto& values : ranks)
                    sum += static_cast<Unsigned>(values[i]);
                sums[i] = static_cast<T>(sum);
                averages[i] = sums[i] / static_cast<T>(world_size);
            }
            const CodecConfig config{codec, Arithmetic::exact, 1, type};
            EXPECT_EQ(reduce(config, ranks, Reduction::sum), sums);
            EXPECT_EQ(reduce(config, ranks, Reduction::average), averages);
            std::vector<T> least = ranks[0];
            std::vector<T> most = ranks[0];
            for (const auto& values : ranks) {
                for (std::size_t i = 0; i < values.size(); ++i) {
                    least[i] = std::min(least[i], values[i]);
                    most[i] = std::max(most[i], values[i]);
                }
            }
            EXPECT_EQ(reduce(config, ranks, Reduction::minimum), least);
            EXPECT_EQ(reduce(config, ranks, Reduction::maximum), most);
        }
    }
}

TEST(Integers, SumAverageMinimumMaximum) {
    check_integers<std::int32_t>(DataType::i32);
    check_integers<std::int64_t>(DataType::i64);
}

TEST(Doubles, AreAddedInRankOrder) {
    std::mt19937_64 random(14);
    std::normal_distribution<double> normal;
    Ranks<double> ranks(5, std::vector<double>(777));
    for (auto& values : ranks)
        std::ranges::generate(values, [&] { return normal(random); });
    std::vector<double> sums = ranks[0];
    for (std::size_t r = 1; r < ranks.size(); ++r) {
        for (std::size_t i = 0; i < sums.size(); ++i)
            sums[i] += ranks[r][i];
    }
    const CodecConfig config{Codec::dense, Arithmetic::exact, 1, DataType::f64};
    EXPECT_EQ(reduce(config, ranks, Reduction::sum), sums);
    for (double& sum : sums)
        sum /= 5;
    EXPECT_EQ(reduce(config, ranks, Reduction::average), sums);
}

// The value of an element of any floating type.
double value_of(DataType type, std::uint64_t bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    float wide = 0;
    switch (type) {
        case DataType::f64:
            return std::bit_cast<double>(bits);
        case DataType::bf16:
            widen_bf16({&half, 1}, {&wide, 1});
            return wide;
        case DataType::f16:
            widen_f16({&half, 1}, {&wide, 1});
            return wide;
        default:
            return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    }
}

template <typename Bits>
void check_extrema(DataType type) {
    std::mt19937_64 random(15);
    Ranks<Bits> ranks(3, std::vector<Bits>(4001));
    for (auto& values : ranks) {
        for (Bits& bits : values) {
            bits = static_cast<Bits>(random());
            if (random() % 8 == 0)
                bits = static_cast<Bits>(bits & ~(static_cast<Bits>(~Bits{0}) >> 1));
        }
    }
    const CodecConfig config{Codec::packed, Arithmetic::exact, 1, type};
    const auto least = reduce(config, ranks, Reduction::minimum);
    const auto most = reduce(config, ranks, Reduction::maximum);
    const auto before = [](double a, double b) {
        return a < b || (a == b && std::signbit(a) && !std::signbit(b));
    };
    for (std::size_t i = 0; i < least.size(); ++i) {
        std::vector<double> values;
        for (const auto& rank : ranks)
            values.push_back(value_of(type, rank[i]));
        if (std::ranges::any_of(values, [](double v) { return std::isnan(v); })) {
            ASSERT_TRUE(std::isnan(value_of(type, least[i])));
            ASSERT_TRUE(std::isnan(value_of(type, most[i])));
            continue;
        }
        std::ranges::sort(values, before);
        const double low = value_of(type, least[i]);
        const double high = value_of(type, most[i]);
        ASSERT_TRUE(!before(low, values.front()) && !before(values.front(), low)) << low;
        ASSERT_TRUE(!before(high, values.back()) && !before(values.back(), high)) << high;
    }
}

TEST(Extrema, OfFloatsOrderZerosAndKeepNaN) {
    check_extrema<std::uint32_t>(DataType::f32);
    check_extrema<std::uint16_t>(DataType::bf16);
    check_extrema<std::uint16_t>(DataType::f16);
    check_extrema<std::uint64_t>(DataType::f64);
}

}  // namespace
}  // namespace sumwire::gpu::testing
