// Four processes sum real gradients over every transport, and every rank's result is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "apps/support/gradient_files.h"
#include "apps/support/npy.h"
#include "apps/support/temporary_directory.h"
#include "tests/integration/run/command.h"

namespace sumwire::test {
namespace {

__extension__ using Quad = __float128;

const std::vector<std::vector<float>>& inputs() {
    static const auto loaded = apps::read_gradients(apps::find_gradients({gradients()}, {}));
    return loaded;
}

// Four terms of these gradients fit 113 bits without rounding.
void expect_correctly_rounded(const std::vector<float>& sums) {
    ASSERT_EQ(sums.size(), inputs().front().size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        Quad sum = 0;
        for (const auto& rank : inputs())
            sum += static_cast<Quad>(rank[i]);
        const auto expected = static_cast<float>(sum);
        if (std::memcmp(&expected, &sums[i], sizeof expected) != 0) ++wrong;
    }
    EXPECT_EQ(wrong, 0U);
}

void expect_rank_order(const std::vector<float>& sums) {
    ASSERT_EQ(sums.size(), inputs().front().size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const float expected =
            ((inputs()[0][i] + inputs()[1][i]) + inputs()[2][i]) + inputs()[3][i];
        if (std::memcmp(&expected, &sums[i], sizeof expected) != 0) ++wrong;
    }
    EXPECT_EQ(wrong, 0U);
}

// Four ranks leave 28 bits below the largest magnitude's power of two, half a unit each.
void expect_near(const std::vector<float>& sums) {
    ASSERT_EQ(sums.size(), inputs().front().size());
    constexpr std::size_t chunk = 65536;
    std::size_t wrong = 0;
    for (std::size_t begin = 0; begin < sums.size(); begin += chunk) {
        const std::size_t end = std::min(sums.size(), begin + chunk);
        float largest = 0;
        for (const auto& rank : inputs())
            for (std::size_t i = begin; i < end; ++i)
                largest = std::max(largest, std::fabs(rank[i]));
        const double bound = 4 * std::ldexp(1.0, (largest > 0 ? std::ilogb(largest) : -126) - 28);
        for (std::size_t i = begin; i < end; ++i) {
            double sum = 0;
            for (const auto& rank : inputs())
                sum += static_cast<double>(rank[i]);
            const double rounding = std::fabs(sum) * 0x1p-23;
            if (std::fabs(static_cast<double>(sums[i]) - sum) > bound + rounding) ++wrong;
        }
    }
    EXPECT_EQ(wrong, 0U);
}

struct Choice {
    const char* codec;
    const char* arithmetic;
    double most_of_dense;  // bytes a worker sends, headers included
};

void PrintTo(const Choice& choice, std::ostream* out) {
    *out << choice.codec << ' ' << choice.arithmetic;
}

std::vector<float> check_ranks(const std::filesystem::path& directory, const Choice& choice) {
    std::vector<float> first;
    for (int rank = 0; rank < 4; ++rank) {
        const std::string name = std::string(choice.codec) + "-" + choice.arithmetic + "-rank" +
                                 std::to_string(rank) + ".npy";
        const auto sums = apps::read_npy(directory / name);
        if (rank == 0) first = sums;
        EXPECT_EQ(sums.size(), first.size());
        EXPECT_EQ(std::memcmp(sums.data(), first.data(), first.size() * sizeof(float)), 0)
            << "rank " << rank << " has other bits than rank 0";
    }
    return first;
}

class Sums : public testing::TestWithParam<std::tuple<const char*, Choice>> {};

TEST_P(Sums, AreRightOnEveryRank) {
    const std::string transport = std::get<0>(GetParam());
    const Choice choice = std::get<1>(GetParam());
    if (transport == "veth" && !is_root())
        GTEST_SKIP() << transport << " needs root; run the tests as root";

    const apps::TemporaryDirectory directory;
    const auto json_file = directory.path() / "rows.json";
    const auto result = run_command(
        run_program() + "--transport " + transport + " --codec " + choice.codec + " --arithmetic " +
        choice.arithmetic + " --json '" + json_file.string() + "' --output '" +
        directory.path().string() + "' --gradients '" + gradients().string() + "'");
    ASSERT_EQ(result.status, 0) << result.output << result.error;
    EXPECT_NE(result.output.find("4 of 4 ranks"), std::string::npos) << result.output;

    const auto rows = nlohmann::json::parse(std::ifstream(json_file));
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].at("exact"), true);
    EXPECT_EQ(rows[0].at("port"), transport);
    EXPECT_EQ(rows[0].at("workers"), 4);
    EXPECT_EQ(rows[0].at("model"), "ncf");
    EXPECT_EQ(rows[0].at("step"), "step040");
    const double dense = rows[0].at("dense_bytes");
    EXPECT_EQ(dense, 4.0 * 2'864'801);
    // What a busy machine makes the ranks send again is no property of the codec.
    const double resent = rows[0].at("retransmissions").get<double>() * (8192 + 64);
    EXPECT_LE(rows[0].at("wire_bytes_tx").get<double>() - resent, choice.most_of_dense * dense);

    const auto sums = check_ranks(directory.path(), choice);
    const std::string arithmetic = choice.arithmetic;
    if (arithmetic == "exact") expect_correctly_rounded(sums);
    if (arithmetic == "f32") expect_rank_order(sums);
    if (arithmetic == "fixed32") expect_near(sums);
}

INSTANTIATE_TEST_SUITE_P(EveryWay, Sums,
                         testing::Combine(testing::Values("inproc", "udp", "memif", "veth"),
                                          testing::Values(Choice{"packed", "exact", 0.30},
                                                          Choice{"packed", "f32", 0.20},
                                                          Choice{"sketch", "fixed32", 0.30},
                                                          Choice{"dense", "exact", 1.50})),
                         [](const auto& way) {
                             const Choice& choice = std::get<1>(way.param);
                             return std::string(std::get<0>(way.param)) + "_" + choice.codec + "_" +
                                    choice.arithmetic;
                         });

TEST(Averages, AreRoundedOnce) {
    const auto result = run_command(run_program() + "--op average --iterations 3 --gradients '" +
                                    gradients().string() + "'");
    EXPECT_EQ(result.status, 0) << result.output << result.error;
    EXPECT_NE(result.output.find("4 of 4 ranks"), std::string::npos) << result.output;
}

TEST(EmbeddedAggregator, ServesProcesses) {
    const auto result = run_command(run_program() + "--embedded --workers 3 --gradients '" +
                                    gradients().string() + "'");
    EXPECT_EQ(result.status, 0) << result.output << result.error;
    EXPECT_NE(result.output.find("3 of 3 ranks"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace sumwire::test
