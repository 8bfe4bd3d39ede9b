// The judge tells right results from wrong ones.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "apps/run/verdict.h"

namespace sumwire::apps {
namespace {

using Ranks = std::vector<std::vector<float>>;

TEST(Verdict, ExactAndFloatSumsAreComparedBitByBit) {
    const Ranks gradients{{1e8F, 1.0F}, {1.0F, 2.0F}, {-1e8F, 4.0F}};
    Judge judge(gradients, ReduceOp::sum);
    const std::vector<float> exact{1.0F, 7.0F};
    const std::vector<float> rank_order{0.0F, 7.0F};
    EXPECT_EQ(judge.judge(Arithmetic::exact, exact).wrong, 0U);
    EXPECT_EQ(judge.judge(Arithmetic::f32, rank_order).wrong, 0U);
    const Verdict verdict = judge.judge(Arithmetic::f32, exact);
    EXPECT_EQ(verdict.wrong, 1U);
    EXPECT_EQ(verdict.first, 0U);
    EXPECT_EQ(verdict.expected, 0.0F);
    EXPECT_EQ(verdict.found, 1.0F);
    EXPECT_EQ(judge.judge(Arithmetic::exact, std::vector<float>{1.0F, -7.0F}).first, 1U);
}

TEST(Verdict, ZerosHaveASign) {
    const Ranks gradients{{-0.0F}, {-0.0F}};
    Judge judge(gradients, ReduceOp::sum);
    EXPECT_EQ(judge.judge(Arithmetic::exact, std::vector<float>{0.0F}).wrong, 0U);
    EXPECT_EQ(judge.judge(Arithmetic::exact, std::vector<float>{-0.0F}).wrong, 1U);
    EXPECT_EQ(judge.judge(Arithmetic::f32, std::vector<float>{-0.0F}).wrong, 0U);
}

TEST(Verdict, FixedPointSumsMayBeOffByTheirBound) {
    const Ranks gradients{{1.0F, 1e-6F}, {1.0F, 0.0F}};
    Judge judge(gradients, ReduceOp::sum);
    // Half a unit is 2^-29, and there are two ranks.
    EXPECT_EQ(judge.judge(Arithmetic::fixed32, std::vector<float>{2.0F, 1e-6F + 0x1p-29F}).wrong,
              0U);
    EXPECT_EQ(judge.judge(Arithmetic::fixed32, std::vector<float>{2.0F, 2e-6F}).wrong, 1U);
    EXPECT_EQ(judge.judge(Arithmetic::fixed32, std::vector<float>{2.0F, NAN}).wrong, 1U);
}

TEST(Verdict, AChunkThatIsNotFiniteIsNaNInFixedPoint) {
    const Ranks gradients{{1.0F, std::numeric_limits<float>::infinity()}, {1.0F, 0.0F}};
    Judge judge(gradients, ReduceOp::sum);
    EXPECT_EQ(judge.judge(Arithmetic::fixed32, std::vector<float>{NAN, NAN}).wrong, 0U);
    EXPECT_EQ(judge.judge(Arithmetic::fixed32, std::vector<float>{2.0F, INFINITY}).wrong, 2U);
}

TEST(Verdict, FindsTheRankThatDiffers) {
    EXPECT_EQ(find_dissenter(Ranks{{1, 2}, {1, 2}, {1, 2}}), std::nullopt);
    EXPECT_EQ(find_dissenter(Ranks{{1, 2}, {1, 2}, {1, 3}}), 2U);
    EXPECT_EQ(find_dissenter(Ranks{{0.0F}, {-0.0F}}), 1U);
    EXPECT_EQ(find_dissenter(Ranks{{}, {}}), std::nullopt);
}

}  // namespace
}  // namespace sumwire::apps
