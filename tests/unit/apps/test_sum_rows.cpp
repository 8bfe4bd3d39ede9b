// Rows say what the ranks report, and notice what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "apps/support/statistics.h"
#include "apps/support/sum_rows.h"

namespace sumwire::apps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RankReport good_report() {
    RankReport report;
    report.seconds = {1.0, 2.0, 3.0};
    report.wire_bytes_tx = 100;
    report.digest = 7;
    return report;
}

class Rows : public testing::Test {
  protected:
    // Of two ranks, the first of which is right.
    const SumRow& row_with(const RankReport& second) {
        rows_.add(0, 0, good_report());
        EXPECT_TRUE(made_.empty());
        rows_.add(1, 0, second);
        EXPECT_EQ(made_.size(), 1U);
        return made_.back();
    }

    std::vector<SumRow> made_;
    SumRows rows_{{SumChoice{}}, 2, [this](const SumRow& row) { made_.push_back(row); }};
};

TEST_F(Rows, RightOnEveryRankIsRight) {
    const SumRow& row = row_with(good_report());
    EXPECT_TRUE(row.right());
    EXPECT_EQ(row.right_ranks, 2U);
    EXPECT_TRUE(rows_.all_right());
}

TEST_F(Rows, TakeTheSlowestAndTheBusiestRank) {
    auto report = good_report();
    report.seconds = {2.0, 1.0, 3.0};
    report.wire_bytes_tx = 200;
    const SumRow& row = row_with(report);
    EXPECT_THAT(row.seconds, ElementsAre(2.0, 2.0, 3.0));
    EXPECT_EQ(row.wire_bytes_tx, 200);
}

TEST_F(Rows, OneWrongElementOnOneRankIsNot) {
    auto report = good_report();
    report.verdict = {1, 5, 2.0F, 3.0F};
    const SumRow& row = row_with(report);
    EXPECT_EQ(row.right_ranks, 1U);
    EXPECT_THAT(row.complaints, ElementsAre(HasSubstr("rank 1 has 1 wrong elements; the first is "
                                                      "5: 3 instead of 2")));
    EXPECT_FALSE(rows_.all_right());
}

TEST_F(Rows, OtherBitsOnOneRankAreNot) {
    auto report = good_report();
    report.digest = 8;
    EXPECT_THAT(row_with(report).complaints, ElementsAre(HasSubstr("other bits than rank 0")));
    EXPECT_FALSE(rows_.all_right());
}

TEST_F(Rows, OtherBitsInALaterIterationAreNot) {
    auto report = good_report();
    report.repeatable = false;
    EXPECT_THAT(row_with(report).complaints, ElementsAre(HasSubstr("later iterations")));
}

TEST_F(Rows, AMissingRankIsNot) {
    rows_.add(0, 0, good_report());
    EXPECT_FALSE(rows_.all_right());
}

TEST_F(Rows, AreWrittenAsJson) {
    const SumSubject subject{.model = "m",
                             .step = "s",
                             .transport = "udp",
                             .workers = 2,
                             .elements = 1000,
                             .op = ReduceOp::sum};
    const auto json = to_json(subject, row_with(good_report()));
    EXPECT_EQ(json.at("codec"), "auto");
    EXPECT_EQ(json.at("seconds_median"), 2.0);
    EXPECT_EQ(json.at("dense_bytes"), 4000);
    EXPECT_EQ(json.at("bus_gb_s"), json.at("alg_gb_s"));
    EXPECT_EQ(json.at("exact"), true);
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
