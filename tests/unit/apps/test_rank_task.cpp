// Tasks and reports survive the way between processes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "apps/support/rank_task.h"

namespace sumwire::apps {
namespace {

template <typename T>
T sent(const T& value) {
    return nlohmann::json::parse(nlohmann::json(value).dump()).template get<T>();
}

TEST(RankTask, SurvivesTheWay) {
    RankTask task;
    task.choices = {{Codec::automatic, Arithmetic::exact}, {Codec::sketch, Arithmetic::fixed32}};
    task.op = ReduceOp::maximum;
    task.warmup = 3;
    task.iterations = 7;
    task.polling = "sleep";
    task.payload_bytes = 1024;
    task.deadline = std::chrono::milliseconds(1500);
    task.output_directory = "/a b";
    const RankTask same = sent(task);
    EXPECT_EQ(same.choices, task.choices);
    EXPECT_EQ(same.op, task.op);
    EXPECT_EQ(same.warmup, task.warmup);
    EXPECT_EQ(same.iterations, task.iterations);
    EXPECT_EQ(same.polling, task.polling);
    EXPECT_EQ(same.payload_bytes, task.payload_bytes);
    EXPECT_EQ(same.deadline, task.deadline);
    EXPECT_EQ(same.output_directory, task.output_directory);
    EXPECT_FALSE(sent(RankTask{}).deadline);
}

TEST(RankReport, SurvivesTheWayEvenIfAResultIsNaN) {
    RankReport report;
    report.seconds = {0.5, 0.25};
    report.wire_bytes_tx = 1.5;
    report.packed_chunks = 4;
    report.verdict = {2, 1'000'000, std::numeric_limits<float>::quiet_NaN(), 1.0F};
    report.digest = 0xFFFFFFFF;
    report.repeatable = false;
    report.description = "udp";
    const RankReport same = sent(report);
    EXPECT_EQ(same.seconds, report.seconds);
    EXPECT_EQ(same.wire_bytes_tx, report.wire_bytes_tx);
    EXPECT_EQ(same.packed_chunks, report.packed_chunks);
    EXPECT_EQ(same.verdict.wrong, 2U);
    EXPECT_EQ(same.verdict.first, 1'000'000U);
    EXPECT_TRUE(std::isnan(same.verdict.expected));
    EXPECT_EQ(same.verdict.found, 1.0F);
    EXPECT_EQ(same.digest, report.digest);
    EXPECT_FALSE(same.repeatable);
    EXPECT_EQ(same.description, "udp");
}

}  // namespace
}  // namespace sumwire::apps
