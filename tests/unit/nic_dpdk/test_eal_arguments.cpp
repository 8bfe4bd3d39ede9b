#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nic/dpdk/eal_arguments.h"
#include "nic/port.h"

namespace sumwire::nic {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr std::uint64_t plenty = 1ULL << 30;

EalCommandLine line(std::vector<std::string> extra, std::uint64_t hugepages = plenty,
                    std::optional<std::string> pci = std::nullopt) {
    return eal_command_line({"0,1", hugepages}, pci, extra);
}

TEST(EalArguments, WithHugepages) {
    EXPECT_THAT(line({}).arguments, ElementsAre("sumwire", "--lcores=0@(0,1)", "--no-telemetry",
                                                "--in-memory", "--no-pci", "--iova-mode=va"));
    EXPECT_THAT(line({}).note, IsEmpty());
}

TEST(EalArguments, WithoutHugepagesThereIsANoteWithTheRemedy) {
    EXPECT_THAT(line({}, 0).arguments,
                ElementsAre("sumwire", "--lcores=0@(0,1)", "--no-telemetry", "--no-huge",
                            "--no-shconf", "-m1024", "--no-pci", "--iova-mode=va"));
    EXPECT_THAT(line({}, 0).note, HasSubstr("nr_hugepages"));
}

TEST(EalArguments, ThePciBusIsScannedOnlyForADeviceOnIt) {
    const auto arguments = line({}, plenty, "0000:3b:00.0,option=1").arguments;
    EXPECT_THAT(arguments, Contains("--allow=0000:3b:00.0,option=1"));
    EXPECT_THAT(arguments, Not(Contains("--no-pci")));
    EXPECT_THAT(arguments, Not(Contains(StartsWith("--iova-mode"))));
}

TEST(EalArguments, TheUserHasTheLastWord) {
    const auto arguments =
        line({"-l", "1", "--iova-mode=pa", "-a", "0000:3b:00.0", "--telemetry"}).arguments;
    EXPECT_THAT(arguments, ElementsAre("sumwire", "--in-memory", "-l", "1", "--iova-mode=pa", "-a",
                                       "0000:3b:00.0", "--telemetry"));
    EXPECT_THAT(line({"--no-huge", "-m", "64"}).arguments,
                ElementsAre("sumwire", "--lcores=0@(0,1)", "--no-telemetry", "--no-shconf",
                            "--no-pci", "--iova-mode=va", "--no-huge", "-m", "64"));
    EXPECT_THAT(line({"--file-prefix=x"}).arguments,
                AllOf(Not(Contains("--no-huge")), Not(Contains("--in-memory"))));
    EXPECT_THAT(line({"--huge-dir=x"}, 0).arguments, Not(Contains("--no-huge")));
    // A name decides nothing about memory.
    EXPECT_THAT(line({"--file-prefix=x"}, 0).arguments, Contains("--no-huge"));
}

TEST(EalArguments, HelpTextsAreRefused) {
    for (const std::vector<std::string>& extra : {std::vector<std::string>{"-h"},
                                                  {"--help"},
                                                  {"--he"},
                                                  {"-vh"},
                                                  {"--log-level=help"},
                                                  {"--log-level", "help"},
                                                  {"--"}}) {
        EXPECT_THROW(line(extra), SetupError) << extra[0];
    }
    EXPECT_NO_THROW(line({"--huge-dir=/x"}));
}

TEST(EalArguments, PciDevicesAreTold) {
    for (const char* device : {"0000:3b:00.0", "3b:00.1", "0000:3b:00.0,a=b", "pci:0000:3b:00.0"}) {
        EXPECT_TRUE(is_pci_device(device)) << device;
    }
    for (const char* device : {"net_memif0", "net_af_packet0,iface=eth0.5", "net_null0", ""}) {
        EXPECT_FALSE(is_pci_device(device)) << device;
    }
}

TEST(EalArguments, AreSplitAndJoinedAtBlanks) {
    EXPECT_THAT(split_arguments("  -l 0\t--no-huge "), ElementsAre("-l", "0", "--no-huge"));
    EXPECT_THAT(split_arguments(" "), IsEmpty());
    EXPECT_EQ(join_arguments(split_arguments(" -l  0")), "-l 0");
}

}  // namespace
}  // namespace sumwire::nic
