// Bad input and bad luck: a clear error, within a deadline, on every rank that is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "apps/support/npy.h"
#include "apps/support/temporary_directory.h"
#include "tests/integration/run/command.h"

namespace sumwire::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class Files : public testing::Test {
  protected:
    std::string add(const std::string& name, std::size_t count) const {
        const auto path = directory_.path() / name;
        apps::write_npy(path, std::vector<float>(count, 1.0F));
        return path.string();
    }
    std::string add_text(const std::string& name, const std::string& text) const {
        const auto path = directory_.path() / name;
        std::ofstream(path, std::ios::binary) << text;
        return path.string();
    }
    static std::string read(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    std::string add_of_type(const std::string& name, const std::string& descr) const {
        std::string text = read(add("good.npy", 100));
        text.replace(text.find("<f4"), 3, descr);
        return add_text(name, text);
    }
    static CommandResult sum(const std::string& arguments) {
        return run_command(run_program() + "--gradients " + arguments);
    }

  private:
    apps::TemporaryDirectory directory_;
};

TEST_F(Files, ThatCannotBeUsedAreNamedWithTheRemedy) {
    const std::string good = add("a.npy", 100);
    const std::string bytes = read(good);
    struct Case {
        std::string path;
        std::string message;
    };
    const std::vector<Case> cases{
        {add_text("cut.npy", bytes.substr(0, 200)), "truncated"},
        {add_text("cut.npy.zst",
                  read((gradients() / "step040-worker0.npy.zst").string()).substr(0, 100'000)),
         "truncated"},
        {add_text("damaged.npy.zst", "no zstd"), "copy it again"},
        {add_of_type("double.npy", "<f8"), "float64"},
        {add_of_type("big.npy", ">f4"), "big-endian"},
        {add_text("text.npy", "hello"), "not a .npy file"},
        {add("short.npy", 99), "99 elements"},
        {"/nowhere/x.npy", "cannot open '/nowhere/x.npy'"},
    };
    for (const auto& [path, message] : cases) {
        const auto result = sum("'" + good + "' '" + path + "'");
        EXPECT_EQ(result.status, 2) << path;
        EXPECT_THAT(result.error, AllOf(HasSubstr(message), HasSubstr(path))) << path;
        EXPECT_EQ(result.output, "") << path;
    }
}

TEST_F(Files, OfDifferentLengthAreBothNamed) {
    const auto a = add("a.npy", 10);
    const auto b = add("b.npy", 11);
    EXPECT_THAT(sum("'" + a + "' '" + b + "'").error,
                AllOf(HasSubstr(a + "' has 10"), HasSubstr(b + "' has 11")));
}

TEST_F(Files, OfAnyLengthAreSummed) {
    for (const std::size_t count : {0U, 1U, 31U, 65537U}) {
        const auto file = "'" + add("n.npy", count) + "' ";
        const auto result = sum(file + file + file + "--transport inproc --codec all");
        EXPECT_EQ(result.status, 0) << count << result.output << result.error;
    }
}

TEST(BadArguments, GetOneLineAndStatusTwo) {
    for (const std::string arguments :
         {"", "--gradients /nowhere", "--nonsense", "--gradients x --codec zip", "./program",
          "--transport inproc -- true"}) {
        const auto result = run_command(run_program() + arguments);
        EXPECT_EQ(result.status, 2) << arguments;
        EXPECT_EQ(std::ranges::count(result.error, '\n'), 1) << result.error;
        EXPECT_THAT(result.error, HasSubstr("sumwire-run: ")) << arguments;
    }
}

TEST(AbsentAggregator, IsNamedWithinTheDeadline) {
    const auto start = Clock::now();
    const auto result =
        run_command(run_program() + "--aggregator 127.0.0.1:9 --deadline 2 --gradients '" +
                    gradients().string() + "'");
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.error, HasSubstr("127.0.0.1:9"));
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(30));
}

TEST(WrongWorldSize, IsNamed) {
    const auto result =
        run_command("WORKER_JOIN_SECONDS=4 " + run_program() +
                    "--workers 2 -- sh -c '[ $RANK = 0 ] || export WORLD_SIZE=3; exec \"$0\"' " +
                    worker_program());
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.error, HasSubstr("world size"));
}

TEST(ARankTwice, IsNamed) {
    const auto result = run_command(
        "WORKER_JOIN_SECONDS=4 " + run_program() +
        "--workers 3 -- sh -c '[ $RANK != 1 ] || export RANK=0; exec \"$0\"' " + worker_program());
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.error, HasSubstr("rank 0"));
}

TEST(TooSmallAnMtu, IsNamed) {
    const auto result =
        run_command(run_program() + "--mtu 128 --gradients '" + gradients().string() + "'");
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.error, HasSubstr("--mtu"));
}

TEST(TheSmallestMtu, IsEnough) {
    const auto result =
        run_command(run_program() + "--mtu 256 --gradients '" + gradients().string() + "'");
    EXPECT_EQ(result.status, 0) << result.error;
}

class LostWorker : public testing::TestWithParam<const char*> {};

TEST_P(LostWorker, IsNamedByAllOthersWithinTheDeadline) {
    const std::string transport = GetParam();
    if (transport == "veth" && !is_root())
        GTEST_SKIP() << transport << " needs root; run the tests as root";
    const auto start = Clock::now();
    const auto result = run_command(run_program() + "--transport " + transport +
                                    " --workers 3 -- " + worker_program() + " 1");
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.error, AllOf(HasSubstr("rank 1 was killed by SIGKILL"),
                                    testing::ContainsRegex("\\[rank 0\\].*rank 1"),
                                    testing::ContainsRegex("\\[rank 2\\].*rank 1")));
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(40));
}

INSTANTIATE_TEST_SUITE_P(Transports, LostWorker, testing::Values("udp", "memif", "veth"),
                         [](const auto& way) { return std::string(way.param); });

// Rank 0's program ends the aggregator, which is its sibling.
CommandResult end_aggregator(const std::string& signal) {
    return run_command("WORKER_JOIN_SECONDS=4 " + run_program() +
                       "--workers 2 -- sh -c '[ $RANK = 1 ] || kill -" + signal +
                       " $(cat "
                       "/proc/$PPID/task/*/children | tr \" \" "
                       "\"\\n\" | head -n 1); exec \"$0\"' " +
                       worker_program());
}

TEST(LostAggregator, IsNamed) {
    const auto result = end_aggregator("KILL");
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.error, HasSubstr("aggregator was killed by SIGKILL"));
}

TEST(ShutDownAggregator, IsNamed) {
    const auto result = end_aggregator("TERM");
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.error,
                HasSubstr("aggregator exited with status 0 although ranks still ran"));
}

}  // namespace
}  // namespace sumwire::test
