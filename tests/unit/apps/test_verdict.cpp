// A verdict tells right results from wrong ones.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "apps/support/reference_sum.h"
#include "apps/support/verdict.h"

namespace sumwire::apps {
namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

Verdict judge(const std::vector<float>& expected, const std::vector<double>& bounds,
              const std::vector<float>& result) {
    return ExpectedSums{.values = expected, .bounds = bounds}.judge(result);
}

TEST(Verdict, WithoutBoundsEveryBitCounts) {
    const std::vector<float> right{0.0F, 1.0F, -2.5F};
    EXPECT_EQ(judge(right, {}, right).wrong, 0U);
    const Verdict verdict = judge(right, {}, {0.0F, std::nextafter(1.0F, 2.0F), 2.5F});
    EXPECT_EQ(verdict.wrong, 2U);
    EXPECT_EQ(verdict.first, 1U);
    EXPECT_EQ(verdict.expected, 1.0F);
    EXPECT_EQ(verdict.found, std::nextafter(1.0F, 2.0F));
}

TEST(Verdict, ZerosHaveASign) {
    EXPECT_EQ(judge({0.0F}, {}, {-0.0F}).wrong, 1U);
    EXPECT_EQ(judge({-0.0F}, {}, {-0.0F}).wrong, 0U);
}

TEST(Verdict, WithBoundsOnlyLargeErrorsCount) {
    EXPECT_EQ(judge({1.0F, 1.0F, 1.0F}, {0.25}, {0.75F, 1.25F, 1.5F}).wrong, 1U);
}

TEST(Verdict, EachChunkHasABoundOfItsOwn) {
    std::vector<float> expected(fixed32_chunk_elements + 1, 1.0F);
    std::vector<float> result(expected.size(), 1.25F);
    EXPECT_EQ(judge(expected, {0.25, 0.125}, result).wrong, 1U);
    EXPECT_EQ(judge(expected, {0.25, 0.125}, result).first, fixed32_chunk_elements);
}

TEST(Verdict, AnyNaNEqualsAnyNaN) {
    EXPECT_EQ(judge({nan_value, 1.0F, nan_value}, {}, {-nan_value, nan_value, 1.0F}).wrong, 2U);
}

TEST(Verdict, WhereABoundIsFiniteNaNIsWrong) {
    EXPECT_EQ(judge({1.0F}, {10}, {nan_value}).wrong, 1U);
}

TEST(Verdict, AChunkThatIsNotFiniteMustBeNaNThroughout) {
    EXPECT_EQ(judge({2.0F, infinity}, {infinity}, {nan_value, -nan_value}).wrong, 0U);
    EXPECT_EQ(judge({2.0F, infinity}, {infinity}, {2.0F, infinity}).wrong, 2U);
}

TEST(Verdict, ASumThatOverflowsIsRightAsItStands) {
    EXPECT_EQ(judge({infinity}, {1e30}, {infinity}).wrong, 0U);
    EXPECT_EQ(judge({infinity}, {1e30}, {-infinity}).wrong, 1U);
}

TEST(Verdict, AResultOfAnotherLengthIsWrong) {
    EXPECT_GT(judge({1.0F, 2.0F}, {}, {1.0F}).wrong, 0U);
    EXPECT_GT(judge({}, {}, {1.0F}).wrong, 0U);
}

}  // namespace
}  // namespace sumwire::apps
