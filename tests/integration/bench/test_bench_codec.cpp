// sumwire-bench codec: the rows mean what they say.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "bench_program.h"

namespace sumwire::test {
namespace {

using nlohmann::json;

const std::map<std::string, double> bytes_of_type{{"f32", 4}, {"bf16", 2}, {"f16", 2},
                                                  {"f64", 8}, {"i32", 4},  {"i64", 8}};

void expect_plausible(const json& row) {
    SCOPED_TRACE(row.dump());
    for (const auto* key :
         {"set", "type", "codec", "arithmetic", "elements", "workers", "union_density",
          "dense_bytes", "wire_bytes", "first_wire_bytes", "bound_bytes", "encode_gb_s",
          "decode_gb_s", "memcpy_gb_s", "stalls", "exact"})
        ASSERT_TRUE(row.contains(key)) << key;
    EXPECT_TRUE(row["exact"].get<bool>());
    const auto element_bytes = bytes_of_type.at(row["type"].get<std::string>());
    EXPECT_EQ(row["dense_bytes"], element_bytes * row["elements"].get<std::uint64_t>());
    for (const auto* rate : {"encode_gb_s", "decode_gb_s", "memcpy_gb_s"}) {
        EXPECT_GT(row[rate], 0.0) << rate;
        EXPECT_LT(row[rate], 1000.0) << rate;
    }

    const double density = row["union_density"];
    const double entropy =
        density < 1 ? -density * std::log2(density) - (1 - density) * std::log2(1 - density) : 0;
    const double bound = row["elements"].get<double>() * (entropy / 8 + element_bytes * density);
    EXPECT_NEAR(row["bound_bytes"].get<double>() / bound, 1.0, 1e-6);
    EXPECT_GT(row["wire_bytes"], 0);
    EXPECT_GT(row["first_wire_bytes"], 0);
}

TEST(BenchCodec, RealGradients) {
    const auto run = run_bench("codec --repetitions 1");
    ASSERT_EQ(run.exit_code, 0) << run.errors << run.output;
    EXPECT_NE(run.output.find("NO NETWORK"), std::string::npos);
    EXPECT_EQ(run.errors, "");
    std::set<std::string> seen;
    for (const auto& row : run.rows) {
        expect_plausible(row);
        EXPECT_EQ(row["set"], "ncf/step040");
        EXPECT_EQ(row["elements"], 2'864'801);
        EXPECT_EQ(row["workers"], 4);
        EXPECT_NEAR(row["union_density"].get<double>(), 0.143, 0.02);
        const std::string name =
            row["codec"].get<std::string>() + " " + row["arithmetic"].get<std::string>();
        EXPECT_TRUE(seen.insert(name).second) << name << " twice";
        const double share = row["wire_bytes"].get<double>() / row["dense_bytes"].get<double>();
        if (name == "dense f32") {
            EXPECT_NEAR(share, 1.0, 1e-9);
        }
        if (name == "packed f32") {
            EXPECT_LE(share, 0.20);
        }
        if (name.starts_with("auto")) {
            EXPECT_LE(share, 0.20);
        }
        if (name == "sketch fixed32") {
            EXPECT_LE(share, 0.30);
        }
    }
    EXPECT_EQ(seen,
              (std::set<std::string>{"auto exact", "auto f32", "auto fixed32", "dense exact",
                                     "dense f32", "dense fixed32", "packed exact", "packed f32",
                                     "packed fixed32", "sketch exact", "sketch fixed32"}));
}

TEST(BenchCodec, EveryType) {
    const auto run =
        run_bench("codec --elements 70001 --density 0.05 --workers 3 --repetitions 1 --type all");
    ASSERT_EQ(run.exit_code, 0) << run.errors << run.output;
    std::map<std::string, int> rows_of_type;
    for (const auto& row : run.rows) {
        expect_plausible(row);
        ++rows_of_type[row["type"].get<std::string>()];
    }
    EXPECT_EQ(rows_of_type,
              (std::map<std::string, int>{
                  {"f32", 11}, {"bf16", 11}, {"f16", 11}, {"f64", 1}, {"i32", 3}, {"i64", 1}}));
}

TEST(BenchCodec, NothingBeatsTheBoundWherePositionsAreRandom) {
    const auto run = run_bench(
        "codec --elements 500000 --density 0.05 --workers 2 --repetitions 1 --arithmetic f32");
    ASSERT_EQ(run.exit_code, 0) << run.errors << run.output;
    for (const auto& row : run.rows)
        EXPECT_GT(row["wire_bytes"], row["bound_bytes"]) << row.dump();
}

TEST(BenchCodec, AutomaticTakesDenseWhereEverythingIsDense) {
    const auto run = run_bench(
        "codec --elements 200000 --density 1 --workers 2 --repetitions 1 --arithmetic f32 --codec "
        "auto,dense");
    ASSERT_EQ(run.exit_code, 0) << run.errors << run.output;
    ASSERT_EQ(run.rows.size(), 2U);
    EXPECT_EQ(run.rows[0]["wire_bytes"], run.rows[1]["wire_bytes"]);
}

TEST(BenchCodec, TellsProgressWhenAsked) {
    const auto run = run_bench("codec --elements 1000 --repetitions 1 --progress");
    ASSERT_EQ(run.exit_code, 0) << run.errors << run.output;
    EXPECT_NE(run.errors.find("sketch fixed32"), std::string::npos) << run.errors;
}

class BenchCodecShapes : public testing::TestWithParam<std::string> {};

TEST_P(BenchCodecShapes, SyntheticGradientsHaveTheDensityAskedFor) {
    const auto run = run_bench(
        "codec --elements 1000003 --density 0.1 --workers 1 --codec packed --arithmetic f32 "
        "--repetitions 1 --shape " +
        GetParam());
    ASSERT_EQ(run.exit_code, 0) << run.errors << run.output;
    ASSERT_EQ(run.rows.size(), 1U);
    expect_plausible(run.rows[0]);
    EXPECT_EQ(run.rows[0]["elements"], 1'000'003);
    EXPECT_EQ(run.rows[0]["workers"], 1);
    EXPECT_NEAR(run.rows[0]["union_density"].get<double>(), 0.1, 0.02);
}

INSTANTIATE_TEST_SUITE_P(Shapes, BenchCodecShapes, testing::Values("uniform", "runs", "rows"),
                         [](const auto& shape) { return shape.param; });

}  // namespace
}  // namespace sumwire::test
