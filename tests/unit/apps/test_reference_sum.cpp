// Reference sums of whole gradients against MPFR.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "apps/support/reference_sum.h"
#include "tests/unit/apps/real.h"

namespace sumwire::apps {
namespace {

using Ranks = std::vector<std::vector<float>>;

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
    std::vector<std::uint32_t> bits;
    for (const float value : values)
        bits.push_back(std::bit_cast<std::uint32_t>(value));
    return bits;
}

Ranks random_ranks(unsigned seed, std::size_t world_size, std::size_t count) {
    std::mt19937 random(seed);
    Ranks ranks(world_size, std::vector<float>(count));
    for (auto& rank : ranks)
        for (float& value : rank)
            value = random() % 3 == 0
                        ? 0.0F
                        : std::bit_cast<float>(static_cast<std::uint32_t>(
                              (random() & 0x807fffffU) | (100 + random() % 30) << 23U));
    return ranks;
}

TEST(ReferenceSum, ExactIsTheRoundedRealSum) {
    for (const std::size_t world_size : {1U, 2U, 3U, 8U}) {
        const auto ranks = random_ranks(5, world_size, 1000);
        std::vector<float> sums;
        std::vector<float> averages;
        for (std::size_t i = 0; i < 1000; ++i) {
            Real real;
            for (const auto& rank : ranks)
                real.add(rank[i]);
            sums.push_back(real.quotient(1));
            averages.push_back(real.quotient(world_size));
        }
        EXPECT_EQ(bits_of(exact_reference(ranks, ReduceOp::sum)), bits_of(sums));
        EXPECT_EQ(bits_of(exact_reference(ranks, ReduceOp::average)), bits_of(averages));
    }
}

TEST(ReferenceSum, RankOrderIsWrittenOut) {
    const auto ranks = random_ranks(6, 4, 1000);
    std::vector<float> sums;
    std::vector<float> averages;
    for (std::size_t i = 0; i < 1000; ++i) {
        sums.push_back(((ranks[0][i] + ranks[1][i]) + ranks[2][i]) + ranks[3][i]);
        averages.push_back(sums.back() / 4.0F);
    }
    EXPECT_EQ(bits_of(rank_order_reference(ranks, ReduceOp::sum)), bits_of(sums));
    EXPECT_EQ(bits_of(rank_order_reference(ranks, ReduceOp::average)), bits_of(averages));
}

TEST(ReferenceSum, InfinitiesComeBackWhereAFloatSumPutsThem) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    constexpr float largest = std::numeric_limits<float>::max();
    const Ranks ranks{{infinity, -infinity, infinity, nan, largest}, {1, 2, -infinity, 1, largest}};
    const auto sums = exact_reference(ranks, ReduceOp::sum);
    EXPECT_EQ(sums[0], infinity);
    EXPECT_EQ(sums[1], -infinity);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(sums[2]), 0x7fc00000U);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(sums[3]), 0x7fc00000U);
    EXPECT_EQ(sums[4], infinity);
    EXPECT_EQ(exact_reference(ranks, ReduceOp::average)[4], largest);
}

TEST(ReferenceSum, BoundsHoldForAnyRoundingToHalfAUnitAndNotForMore) {
    const Ranks ranks{{1.5F, 0.25F, 1e-3F}, {-1.0F, 0.5F, 1e-4F}, {0, 0, 0}};
    const auto bounds = fixed32_bounds(ranks, ReduceOp::sum, 2);
    ASSERT_EQ(bounds.size(), 2U);
    // The largest magnitude is 1.5 and three ranks need two bits of carry: half a unit is 2^-28.
    EXPECT_GE(bounds[0], 3 * 0x1p-28);
    EXPECT_LE(bounds[0], 3 * 0x1p-28 + (4.5 + 3 * 0x1p-28) * 0x1p-23 + 0x1p-149);
    EXPECT_LT(bounds[1], bounds[0] / 500);
    EXPECT_NEAR(fixed32_bounds(ranks, ReduceOp::average, 2)[0], bounds[0] / 3, 1e-12);
}

TEST(ReferenceSum, NothingHasNoSums) {
    const Ranks ranks{{}, {}};
    EXPECT_TRUE(exact_reference(ranks, ReduceOp::sum).empty());
    EXPECT_TRUE(rank_order_reference(ranks, ReduceOp::sum).empty());
    EXPECT_TRUE(fixed32_bounds(ranks, ReduceOp::sum, 65536).empty());
}

}  // namespace
}  // namespace sumwire::apps
