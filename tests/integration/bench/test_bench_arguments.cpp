// sumwire-bench: wrong arguments get one clear line with the remedy and exit code 2.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "bench_program.h"

namespace sumwire::test {
namespace {

struct Case {
    std::string name;
    std::string arguments;
    std::string cause;   // must be named
    std::string remedy;  // likewise
};

class BenchArguments : public testing::TestWithParam<Case> {};

TEST_P(BenchArguments, AreRefusedWithTheRemedy) {
    const auto run = run_bench(GetParam().arguments, false);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_EQ(run.output, "");
    EXPECT_EQ(std::ranges::count(run.errors, '\n'), 1) << run.errors;
    EXPECT_EQ(run.errors.find("sumwire-bench: "), 0U) << run.errors;
    EXPECT_NE(run.errors.find(GetParam().cause), std::string::npos) << run.errors;
    EXPECT_NE(run.errors.find(GetParam().remedy), std::string::npos) << run.errors;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BenchArguments,
    testing::Values(
        Case{"no_subcommand", "", "subcommand", "--help"},
        Case{"unknown_option", "codec --foo", "--foo", "codec --help"},
        Case{"unknown_codec", "codec --codec zip", "zip", "auto, dense, packed, sketch"},
        Case{"sketch_of_floats", "codec --codec sketch --arithmetic f32", "f32",
             "choose --arithmetic exact"},
        Case{"no_directory", "codec --gradients /nowhere", "/nowhere", "--help"},
        Case{"no_gradients", "codec --gradients apps", "apps", "step"},
        Case{"density_without_elements", "codec --density 0.1", "--density", "--elements"},
        Case{"density_too_large", "codec --elements 10 --density 2", "--density", "--help"},
        Case{"json_nowhere", "codec --elements 10 --json /nowhere/f.json", "/nowhere/f.json",
             "name a file"},
        Case{"odd_payload", "aggregator --payload 100", "100", "multiple of 64"},
        Case{"text_for_number", "aggregator --payload abc", "abc", "multiple of 64"},
        Case{"odd_window", "aggregator --window 3", "3", "power of two"},
        Case{"unknown_op", "aggregator --op mul", "mul", "add_i32"},
        Case{"unknown_polling", "allreduce --polling busy", "busy", "yield"},
        Case{"unknown_type", "codec --type f8", "f8", "bf16"},
        Case{"unknown_transport", "allreduce --transport pigeon", "pigeon", "udp"},
        Case{"unknown_port", "allreduce --port pigeon", "pigeon", "udp"},
        Case{"sizes_swapped", "allreduce --min 4K --max 1K", "--min 4K", "smaller one first"},
        Case{"no_size", "allreduce --min 1X", "1X", "64M"},
        Case{"too_many_workers", "allreduce --gradients tests/data/gradients/ncf --workers 5",
             "--workers 5", "leave the option out"},
        Case{"size_and_gradients", "allreduce --gradients tests/data/gradients/ncf --min 1K",
             "--min", "--help"}),
    [](const auto& wrong) { return wrong.param.name; });

TEST(BenchVersion, IsNamed) {
    const auto run = run_bench("--version", false);
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_EQ(run.output.find("sumwire-bench "), 0U) << run.output;
    EXPECT_EQ(run.errors, "");
}

TEST(BenchHelp, GoesToStandardOutput) {
    for (const auto* arguments :
         {"--help", "codec --help", "aggregator --help", "allreduce --help"}) {
        const auto run = run_bench(arguments, false);
        EXPECT_EQ(run.exit_code, 0) << arguments;
        EXPECT_EQ(run.errors, "");
        EXPECT_NE(run.output.find("--help"), std::string::npos) << arguments;
        EXPECT_EQ(run.output.find("rank-of-a-session"), std::string::npos) << arguments;
    }
}

}  // namespace
}  // namespace sumwire::test
