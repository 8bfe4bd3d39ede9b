// The checks that every benchmark rests on notice wrong sums.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "apps/bench/allreduce_rows.h"
#include "apps/bench/expected_sums.h"
#include "apps/support/statistics.h"

namespace sumwire::apps {
namespace {

TEST(ExpectedSums, WithoutBoundsEveryBitCounts) {
    const std::vector<float> right{0.0F, 1.0F, -2.5F};
    const ExpectedSums expected{.values = right, .bounds = {}};
    EXPECT_EQ(expected.count_wrong(right), 0U);
    EXPECT_EQ(expected.count_wrong(std::vector{-0.0F, std::nextafter(1.0F, 2.0F), -2.5F}), 2U);
}

TEST(ExpectedSums, WithBoundsOnlyLargeErrorsCount) {
    const std::vector<float> right{1.0F, 1.0F, 1.0F};
    const std::vector<double> bounds{0.25};
    const ExpectedSums expected{.values = right, .bounds = bounds};
    EXPECT_EQ(expected.count_wrong(std::vector{0.75F, 1.25F, 1.5F}), 1U);
}

TEST(ExpectedSums, NaNIsRightOnlyWhereItIsExpected) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> right{nan, 1.0F, nan};
    const std::vector<double> bounds{10};
    for (const auto bound : {std::span<const double>{}, std::span<const double>{bounds}}) {
        const ExpectedSums expected{.values = right, .bounds = bound};
        EXPECT_EQ(expected.count_wrong(std::vector{-nan, nan, 1.0F}), 2U);
    }
}

TEST(ExpectedSums, AResultOfAnotherLengthIsWrong) {
    const std::vector<float> right{1.0F, 2.0F};
    const ExpectedSums expected{.values = right, .bounds = {}};
    EXPECT_GT(expected.count_wrong(std::vector{1.0F}), 0U);
}

class AllreduceRowsTest : public testing::Test {
  protected:
    static RankReport good_report() {
        RankReport report;
        report.seconds = {1.0, 2.0, 3.0};
        report.digest = 7;
        return report;
    }

    AllreduceRows rows(unsigned workers) {
        return {{.model = "m",
                 .step = "s",
                 .port = "udp",
                 .workers = workers,
                 .elements = 10,
                 .choices = {CodecChoice{}}},
                table_,
                progress_,
                json_};
    }

    bool exact_with(const RankReport& second) {
        auto both = rows(2);
        both.add(0, 0, good_report());
        both.add(1, 0, second);
        return both.all_exact();
    }

    Table table_ = allreduce_table();
    Progress progress_{false};
    JsonFile json_{""};
};

TEST_F(AllreduceRowsTest, RightOnEveryRankIsExact) {
    EXPECT_TRUE(exact_with(good_report()));
}

TEST_F(AllreduceRowsTest, OneWrongElementOnOneRankIsNot) {
    auto report = good_report();
    report.wrong = 1;
    EXPECT_FALSE(exact_with(report));
}

TEST_F(AllreduceRowsTest, OtherBitsOnOneRankAreNot) {
    auto report = good_report();
    report.digest = 8;
    EXPECT_FALSE(exact_with(report));
}

TEST_F(AllreduceRowsTest, AMissingRankIsNot) {
    auto both = rows(2);
    both.add(0, 0, good_report());
    EXPECT_FALSE(both.all_exact());
}

TEST(Quantile, TakesTheNearestRank) {
    std::vector<int> values{5, 1, 4, 2, 3, 6, 10, 9, 8, 7};
    EXPECT_EQ(quantile(values, 0.5), 5);
    EXPECT_EQ(quantile(values, 0.99), 10);
    EXPECT_EQ(quantile(values, 0.0), 1);
    EXPECT_EQ(quantile(values, 0.9), 9);
    EXPECT_EQ(median(std::vector{3}), 3);
}

}  // namespace
}  // namespace sumwire::apps
