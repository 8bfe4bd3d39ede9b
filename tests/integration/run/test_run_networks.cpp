// Bad networks, users without privileges, and what is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "apps/support/temporary_directory.h"
#include "tests/integration/run/command.h"

namespace sumwire::test {
namespace {

using testing::HasSubstr;

class Faults : public testing::TestWithParam<std::string> {};

TEST_P(Faults, ChangeNoBit) {
    const auto result = run_command(
        run_program() + GetParam() +
        " --faults loss=0.02,duplicate=0.02,reorder=0.02,corrupt=0.005,seed=7 --gradients '" +
        gradients().string() + "'");
    EXPECT_EQ(result.status, 0) << result.output << result.error;
    EXPECT_THAT(result.output, HasSubstr("4 of 4 ranks"));
    // Whatever else the row says, something was sent again.
    EXPECT_THAT(result.output, testing::Not(testing::ContainsRegex(" 0 +4 of 4")));
}

INSTANTIATE_TEST_SUITE_P(Ways, Faults,
                         testing::Values("--transport udp --codec packed",
                                         "--transport udp --codec packed --arithmetic f32",
                                         "--transport inproc --codec sketch",
                                         "--transport inproc --codec dense"));

TEST(Unprivileged, UserSumsOverUdp) {
    std::string command = run_program();
    const apps::TemporaryDirectory directory;
    if (is_root()) {
        // Copies, for the build may lie where others cannot look.
        const auto& place = directory.path();
        std::filesystem::permissions(place, std::filesystem::perms(0755));
        const auto copied =
            run_command("cp " + run_program() + aggregator_program() + "'" + place.string() +
                        "' && cp -r '" + gradients().string() + "' '" + place.string() + "/ncf'");
        ASSERT_EQ(copied.status, 0) << copied.error;
        command = "cd / && TMPDIR=/tmp setpriv --reuid=65534 --regid=65534 --clear-groups '" +
                  (place / "sumwire-run").string() + "' ";
        command += "--codec packed --gradients '" + (place / "ncf").string() + "'";
    } else {
        command += "--codec packed --gradients '" + gradients().string() + "'";
    }
    const auto result = run_command(command);
    EXPECT_EQ(result.status, 0) << result.output << result.error;
    EXPECT_THAT(result.output, HasSubstr("4 of 4 ranks"));
}

TEST(Unprivileged, UserIsToldWhatVethNeeds) {
    if (!is_root()) GTEST_SKIP() << "needs root, to drop it";
    const auto result =
        run_command("setpriv --reuid=65534 --regid=65534 --clear-groups " +
                    std::string("--inh-caps=-all ") + run_program() + "--transport veth -- true");
    if (result.status == 126 || result.status == 127)
        GTEST_SKIP() << "the build is not readable for others; build elsewhere";
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.error, HasSubstr("run as root, or use --transport udp"));
}

// Interrupted in the middle, it ends at once and leaves nothing behind.
class Interruption : public testing::TestWithParam<const char*> {};

TEST_P(Interruption, EndsAllProcesses) {
    const std::string transport = GetParam();
    if (transport == "veth" && !is_root())
        GTEST_SKIP() << transport << " needs root; run the tests as root";
    const apps::TemporaryDirectory directory;
    const auto pids = (directory.path() / "pids").string();
    // Each rank notes itself, then its sibling; the last one interrupts the launcher.
    const auto result =
        run_command("TMPDIR='" + directory.path().string() + "' " + run_program() + "--transport " +
                    transport + " --workers 2 -- sh -c 'echo $$ >> " + pids + "; [ $(wc -l < " +
                    pids + ") -lt 2 ] || kill -INT $PPID; exec sleep 1000'");
    EXPECT_EQ(result.status, 130) << result.error;
    const auto alive =
        run_command("for pid in $(cat '" + pids + "'); do ! kill -0 $pid || exit 1; done");
    EXPECT_EQ(alive.status, 0);
    // The temporary directory of the launcher is gone; the file of this test is not.
    const auto left = run_command("ls '" + directory.path().string() + "'");
    EXPECT_EQ(left.output, "pids\n");
}

INSTANTIATE_TEST_SUITE_P(Transports, Interruption, testing::Values("udp", "memif", "veth"),
                         [](const auto& way) { return std::string(way.param); });

}  // namespace
}  // namespace sumwire::test
