#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nic/dpdk/driver.h"
#include "nic/port.h"

namespace sumwire::nic {
namespace {

using testing::HasSubstr;

TEST(Driver, TraitsFollowFromItsName) {
    EXPECT_TRUE(driver_traits("net_memif").memory);
    EXPECT_TRUE(driver_traits("net_ring").memory);
    EXPECT_FALSE(driver_traits("net_af_packet").memory);
    EXPECT_TRUE(driver_traits("net_af_packet").kernel_interface);
    EXPECT_FALSE(driver_traits("mlx5_pci").memory);
    EXPECT_FALSE(driver_traits("mlx5_pci").kernel_interface);
}

TEST(Driver, OptionsAreFound) {
    const auto* device = "net_af_packet0,iface=eth0,framesz=4096";
    EXPECT_EQ(device_option(device, "iface"), "eth0");
    EXPECT_EQ(device_option(device, "framesz"), "4096");
    EXPECT_EQ(device_option(device, "frame"), std::nullopt);
    EXPECT_EQ(device_option("net_null0", "iface"), std::nullopt);
}

TEST(Driver, PacketSocketsGetFramesThatHoldTheMtu) {
    EXPECT_EQ(complete_device("net_af_packet0,iface=a", 1500),
              "net_af_packet0,iface=a,framesz=2048,blocksz=4096,framecnt=4096");
    EXPECT_EQ(complete_device("net_af_packet0,iface=a", 9000),
              "net_af_packet0,iface=a,framesz=9216,blocksz=36864,framecnt=1820");
    EXPECT_EQ(complete_device("net_af_packet0,iface=a,framecnt=64", 1500),
              "net_af_packet0,iface=a,framecnt=64,framesz=2048,blocksz=4096");
}

TEST(Driver, MemifsGetBuffersThatHoldTheMtu) {
    EXPECT_EQ(complete_device("net_memif0,role=server", 1500), "net_memif0,role=server");
    EXPECT_EQ(complete_device("net_memif0", 9000), "net_memif0,bsize=9024");
    EXPECT_EQ(complete_device("net_memif0,bsize=16384", 9000), "net_memif0,bsize=16384");
}

TEST(Driver, OthersStayAsTheyAre) {
    EXPECT_EQ(complete_device("0000:3b:00.0,option=1", 9000), "0000:3b:00.0,option=1");
}

TEST(Driver, GivenSizesThatAreTooSmallAreRefused) {
    for (const auto* device : {"net_memif0,bsize=2048", "net_af_packet0,iface=a,framesz=2048"}) {
        try {
            complete_device(device, 9000);
            FAIL() << device;
        } catch (const SetupError& error) {
            EXPECT_THAT(error.what(), HasSubstr("=2048"));
            EXPECT_THAT(error.what(), HasSubstr("raise it"));
        }
    }
}

TEST(Driver, ReceiveBuffersHoldFrames) {
    EXPECT_EQ(receive_room("net_ring0", 1500), 2048U);
    EXPECT_EQ(receive_room("net_ring0", 9000), 9018U);
    EXPECT_EQ(receive_room("net_af_packet0,iface=a,framesz=16384", 9000), 16384U);
}

}  // namespace
}  // namespace sumwire::nic
