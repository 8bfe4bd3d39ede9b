// sumwire-bench aggregator: the rows mean what they say.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "bench_program.h"

namespace sumwire::test {
namespace {

using nlohmann::json;

void expect_rates(const json& row) {
    SCOPED_TRACE(row.dump());
    for (const auto* key : {"mode", "op", "workers", "payload", "packets_per_s", "payload_gbit_s",
                            "cycles_per_packet", "exact"})
        ASSERT_TRUE(row.contains(key)) << key;
    EXPECT_TRUE(row["exact"].get<bool>());
    EXPECT_GT(row["packets_per_s"], 0.0);
    EXPECT_GT(row["cycles_per_packet"], 0.0);
    const double gbit = row["packets_per_s"].get<double>() * row["payload"].get<double>() * 8 / 1e9;
    EXPECT_NEAR(row["payload_gbit_s"].get<double>() / gbit, 1.0, 1e-6);
}

TEST(BenchAggregator, CoreAlone) {
    const auto run =
        run_bench("aggregator --core-only --payload 64,1024 --workers 3 --seconds 0.02");
    ASSERT_EQ(run.exit_code, 0) << run.errors << run.output;
    EXPECT_NE(run.output.find("NO NETWORK"), std::string::npos);
    EXPECT_EQ(run.errors, "");
    std::set<std::string> ops;
    for (const auto& row : run.rows) {
        expect_rates(row);
        EXPECT_EQ(row["mode"], "core");
        EXPECT_EQ(row["workers"], 3);
        EXPECT_NEAR(row["ratio_to_plain"].get<double>(),
                    row["payload_gbit_s"].get<double>() / row["plain_gbit_s"].get<double>(), 1e-6);
        ops.insert(row["op"]);
    }
    EXPECT_EQ(run.rows.size(), 8U);
    EXPECT_EQ(ops, (std::set<std::string>{"or", "add_i32", "max_u8", "add_f32"}));
}

TEST(BenchAggregator, OverPorts) {
    const auto run = run_bench(
        "aggregator --op add_i32 --payload 1024 --workers 2 --window 1,8 --port inproc,udp,memif "
        "--seconds 0.2");
    ASSERT_EQ(run.exit_code, 0) << run.errors << run.output;
    std::set<std::string> seen;
    for (const auto& row : run.rows) {
        expect_rates(row);
        if (row["mode"] != "port") continue;
        seen.insert(row["port"].get<std::string>() + " " + row["window"].dump());
        EXPECT_GT(row["latency_p50_us"], 0.0);
        EXPECT_LE(row["latency_p50_us"], row["latency_p99_us"]);
        EXPECT_LE(row["latency_p99_us"], row["latency_p999_us"]);
        EXPECT_TRUE(row.contains("retransmissions"));
    }
    EXPECT_EQ(seen, (std::set<std::string>{"inproc 1", "inproc 8", "memif 1", "memif 8", "udp 1",
                                           "udp 8"}));
}

}  // namespace
}  // namespace sumwire::test
