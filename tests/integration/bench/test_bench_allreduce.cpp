// sumwire-bench allreduce: the rows mean what they say, and the bytes on the wire stay small.
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <set>
#include <string>

#include "bench_program.h"

namespace sumwire::test {
namespace {

using nlohmann::json;

// What tests/data/gradients/ncf is known to hold.
constexpr std::uint64_t ncf_elements = 2'864'801;
constexpr double ncf_workers = 4;

void expect_plausible(const json& row) {
    SCOPED_TRACE(row.dump());
    for (const auto* key : {"model", "step", "workers", "port", "codec", "arithmetic", "elements",
                            "dense_bytes", "wire_bytes_tx", "wire_bytes_rx", "seconds_median",
                            "seconds_min", "seconds_max", "alg_gb_s", "bus_gb_s", "exact"})
        ASSERT_TRUE(row.contains(key)) << key;
    EXPECT_TRUE(row["exact"].get<bool>());
    const double dense = row["dense_bytes"];
    const double workers = row["workers"];
    EXPECT_EQ(dense, 4.0 * row["elements"].get<double>());
    EXPECT_GT(row["wire_bytes_tx"], 0);
    EXPECT_GT(row["wire_bytes_rx"], 0);
    EXPECT_GT(row["seconds_min"], 0.0);
    EXPECT_LE(row["seconds_min"], row["seconds_median"]);
    EXPECT_LE(row["seconds_median"], row["seconds_max"]);
    const double algorithm = dense / row["seconds_median"].get<double>() / 1e9;
    EXPECT_NEAR(row["alg_gb_s"].get<double>() / algorithm, 1.0, 1e-6);
    EXPECT_NEAR(row["bus_gb_s"].get<double>() / (algorithm * 2 * (workers - 1) / workers), 1.0,
                1e-6);
}

void expect_ncf(const json& row, const std::string& port) {
    expect_plausible(row);
    EXPECT_EQ(row["model"], "ncf");
    EXPECT_EQ(row["step"], "step040");
    EXPECT_EQ(row["port"], port);
    EXPECT_EQ(row["elements"], ncf_elements);
    EXPECT_EQ(row["workers"], ncf_workers);
}

// Bytes of one iteration that remain if nothing has to be sent twice, as a share of the dense ones.
// A machine too busy to answer in time costs packets, which say nothing about the codec.
double share_of_dense(const json& row, const char* bytes, double iterations) {
    constexpr double largest_frame = 8192 + 64;
    const double resent = row["retransmissions"].get<double>() / iterations * largest_frame;
    return (row[bytes].get<double>() - resent) / row["dense_bytes"].get<double>();
}

class BenchAllreduce : public testing::TestWithParam<std::string> {};

TEST_P(BenchAllreduce, RealGradientsWithinTheirBounds) {
    if (GetParam() == "veth" && geteuid() != 0)
        GTEST_SKIP() << "network namespaces need root; run the test as root";
    const std::string common =
        "allreduce --gradients tests/data/gradients/ncf --iterations 2 "
        "--warmup 1 --port " +
        GetParam();
    const auto packed = run_bench(common + " --codec packed --arithmetic f32");
    ASSERT_EQ(packed.exit_code, 0) << packed.errors << packed.output;
    ASSERT_EQ(packed.rows.size(), 1U);
    expect_ncf(packed.rows[0], GetParam());
    EXPECT_LE(share_of_dense(packed.rows[0], "wire_bytes_tx", 2), 0.20);
    EXPECT_LE(share_of_dense(packed.rows[0], "wire_bytes_rx", 2), 0.20);

    const auto sketch = run_bench(common + " --codec sketch");
    ASSERT_EQ(sketch.exit_code, 0) << sketch.errors << sketch.output;
    ASSERT_EQ(sketch.rows.size(), 1U);
    expect_ncf(sketch.rows[0], GetParam());
    EXPECT_EQ(sketch.rows[0]["arithmetic"], "fixed32");
    EXPECT_LE(share_of_dense(sketch.rows[0], "wire_bytes_tx", 2), 0.30);
    EXPECT_LE(share_of_dense(sketch.rows[0], "wire_bytes_rx", 2), 0.30);
}

INSTANTIATE_TEST_SUITE_P(Ports, BenchAllreduce, testing::Values("inproc", "udp", "memif", "veth"),
                         [](const auto& port) { return port.param; });

TEST(BenchAllreduceTable, NamesTheColumnsOfNcclTestsAndWhatIsShared) {
    const auto run =
        run_bench("allreduce --min 1K --max 16K --factor 4 --workers 2 --iterations 2 --warmup 1");
    ASSERT_EQ(run.exit_code, 0) << run.errors << run.output;
    for (const auto* text : {"size(B)", "count(elements)", "type", "redop", "time(us)",
                             "algbw(GB/s)", "busbw(GB/s)", "#wrong", "NO NETWORK", "SHARE"})
        EXPECT_NE(run.output.find(text), std::string::npos) << text;

    std::map<double, std::set<std::string>> codecs_of_size;
    for (const auto& row : run.rows) {
        expect_plausible(row);
        EXPECT_EQ(row["workers"], 2);
        const std::string codec = row["codec"];
        EXPECT_EQ(row["arithmetic"], codec == "sketch" ? "fixed32" : "exact");
        codecs_of_size[row["dense_bytes"]].insert(codec);
    }
    const std::set<std::string> all{"auto", "dense", "packed", "sketch"};
    EXPECT_EQ(codecs_of_size,
              (std::map<double, std::set<std::string>>{{1024, all}, {4096, all}, {16384, all}}));
}

TEST(BenchAllreduceTable, DenseFloatsCostTheirBytesAndHeaders) {
    const auto run = run_bench(
        "allreduce --min 1M --max 1M --workers 2 --codec dense --arithmetic f32 --payload 1024 "
        "--iterations 2 --warmup 1 --port inproc");
    ASSERT_EQ(run.exit_code, 0) << run.errors << run.output;
    ASSERT_EQ(run.rows.size(), 1U);
    expect_plausible(run.rows[0]);
    // 1,024 packets of 1,024 bytes and 64 bytes of headers, unless something was sent again.
    const double least = 1024.0 * (1024 + 64);
    EXPECT_GE(run.rows[0]["wire_bytes_tx"], least);
    if (run.rows[0]["retransmissions"] == 0) {
        EXPECT_LE(run.rows[0]["wire_bytes_tx"], least * 1.01);
    }
}

TEST(BenchAllreduceTable, TellsProgressWhenAsked) {
    const auto run = run_bench(
        "allreduce --min 1K --max 1K --workers 2 --codec dense --iterations 2 --warmup 1 "
        "--progress");
    ASSERT_EQ(run.exit_code, 0) << run.errors << run.output;
    EXPECT_NE(run.errors.find("iteration 1 of 3"), std::string::npos) << run.errors;
}

}  // namespace
}  // namespace sumwire::test
