// Each arithmetic and operation has the reference it promises.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "apps/support/references.h"

namespace sumwire::apps {
namespace {

using Ranks = std::vector<std::vector<float>>;

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

bool is_right(const Ranks& ranks, ReduceOp op, Arithmetic arithmetic,
              const std::vector<float>& result) {
    return References(ranks, op).of(arithmetic).judge(result).wrong == 0;
}

TEST(References, ExactAndFloatSumsDiffer) {
    const Ranks ranks{{1e8F, 1.0F}, {1.0F, 2.0F}, {-1e8F, 4.0F}};
    EXPECT_TRUE(is_right(ranks, ReduceOp::sum, Arithmetic::exact, {1.0F, 7.0F}));
    EXPECT_FALSE(is_right(ranks, ReduceOp::sum, Arithmetic::f32, {1.0F, 7.0F}));
    EXPECT_TRUE(is_right(ranks, ReduceOp::sum, Arithmetic::f32, {0.0F, 7.0F}));
}

TEST(References, OnlyTheFloatSumOfNegativeZerosIsNegative) {
    const Ranks ranks{{-0.0F}, {-0.0F}};
    EXPECT_TRUE(is_right(ranks, ReduceOp::sum, Arithmetic::exact, {0.0F}));
    EXPECT_FALSE(is_right(ranks, ReduceOp::sum, Arithmetic::exact, {-0.0F}));
    EXPECT_TRUE(is_right(ranks, ReduceOp::sum, Arithmetic::f32, {-0.0F}));
}

TEST(References, FixedPointSumsMayBeOffByTheirBound) {
    const Ranks ranks{{1.0F, 1e-6F}, {1.0F, 0.0F}};
    // Half a unit is 2^-29, and there are two ranks.
    EXPECT_TRUE(is_right(ranks, ReduceOp::sum, Arithmetic::fixed32, {2.0F, 1e-6F + 0x1p-29F}));
    EXPECT_FALSE(is_right(ranks, ReduceOp::sum, Arithmetic::fixed32, {2.0F, 2e-6F}));
}

TEST(References, AnInfinityMakesAFixedPointChunkNaN) {
    const Ranks ranks{{1.0F, infinity}, {1.0F, 0.0F}};
    EXPECT_TRUE(is_right(ranks, ReduceOp::sum, Arithmetic::fixed32, {nan_value, nan_value}));
    EXPECT_FALSE(is_right(ranks, ReduceOp::sum, Arithmetic::fixed32, {2.0F, infinity}));
    EXPECT_TRUE(is_right(ranks, ReduceOp::sum, Arithmetic::exact, {2.0F, infinity}));
}

TEST(References, ExtremaKnowZerosSignsAndNaN) {
    const Ranks ranks{{0.0F, -0.0F, 1.0F, nan_value, -infinity}, {-0.0F, 0.0F, -2.0F, 1.0F, 5.0F}};
    for (const auto arithmetic : {Arithmetic::exact, Arithmetic::f32, Arithmetic::fixed32}) {
        EXPECT_TRUE(is_right(ranks, ReduceOp::minimum, arithmetic,
                             {-0.0F, -0.0F, -2.0F, nan_value, -infinity}));
        EXPECT_TRUE(
            is_right(ranks, ReduceOp::maximum, arithmetic, {0.0F, 0.0F, 1.0F, nan_value, 5.0F}));
        EXPECT_FALSE(
            is_right(ranks, ReduceOp::maximum, arithmetic, {-0.0F, 0.0F, 1.0F, 1.0F, 5.0F}));
    }
}

}  // namespace
}  // namespace sumwire::apps
