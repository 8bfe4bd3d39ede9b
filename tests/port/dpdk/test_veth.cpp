// DPDK ports on kernel interfaces, with the kernel itself at the other end.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>

#include "tests/port/dpdk/links.h"
#include "tests/port/traffic.h"

namespace sumwire::nic {
namespace {

using testing::HasSubstr;

class Veth : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        try {
            link_.emplace();
        } catch (const Unavailable& reason) {
            GTEST_SKIP() << reason.what();
        }
    }
    static DpdkPortOptions options(std::string more = ",iface=swl") {
        return options_of(GetParam() + std::move(more), left_address);
    }
    static std::string error_of(const DpdkPortOptions& options) {
        try {
            make_dpdk_port(options);
            return "";
        } catch (const SetupError& error) {
            return error.what();
        }
    }

    std::optional<VethLink> link_;
};

// A kernel socket leaves the UDP checksum to the device, and veth has none to compute it.
TEST_P(Veth, ReceivesUnfinishedChecksumsOfThisMachinesKernel) {
    const FarNamespace far;
    const auto port = make_dpdk_port(options());
    int descriptor = -1;
    far.run([&] { descriptor = socket(AF_INET, SOCK_DGRAM, 0); });
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(test_port);
    to.sin_addr.s_addr = htonl(left_address);
    const Message message = make_message(0, 512);
    std::vector<std::byte> datagram(message.header.begin(), message.header.end());
    datagram.insert(datagram.end(), message.payload.begin(), message.payload.end());
    bool received = false;
    EXPECT_TRUE(poll_until([&] {
        sendto(descriptor, datagram.data(), datagram.size(), MSG_DONTWAIT,
               reinterpret_cast<const sockaddr*>(&to), sizeof to);
        port->wait(std::chrono::microseconds(50));
        std::array<RxPacket, 8> burst;
        const std::size_t count = port->receive(burst);
        for (const RxPacket& packet : std::span(burst).first(count)) {
            EXPECT_TRUE(message.equals(packet.datagram));
            EXPECT_EQ(packet.from.address, right_address);
            received = true;
        }
        port->release(std::span(burst).first(count));
        return received;
    }));
    close(descriptor);
}

TEST_P(Veth, TakesAddressAndMtuFromTheInterface) {
    ip("addr add 10.83.0.77/24 dev swl");
    ip("link set swl mtu 1300");
    auto chosen = options();
    chosen.ip.reset();
    const auto port = make_dpdk_port(chosen);
    EXPECT_EQ(port->info().local.address, 0x0a53004dU);
    EXPECT_EQ(port->info().max_datagram, 1300U - 28);
    EXPECT_TRUE(port->info().detects_corruption);
    EXPECT_THAT(port->info().description, HasSubstr("on swl, shared with the kernel"));
}

TEST_P(Veth, ASmallerMtuCanBeChosenALargerOneCannot) {
    auto chosen = options();
    chosen.mtu = 600;
    EXPECT_EQ(make_dpdk_port(chosen)->info().max_datagram, 600U - 28);
    chosen.mtu = 1501;
    EXPECT_THAT(error_of(chosen), HasSubstr("ip link set dev swl mtu 1501"));
}

TEST_P(Veth, MissingInterfacesAreReported) {
    EXPECT_THAT(error_of(options(",iface=nonsense")), HasSubstr("check that the interface exists"));
}

TEST_P(Veth, WithoutChecksumsCorruptionGoesUndetected) {
    auto chosen = options();
    chosen.checksum = UdpChecksum::off;
    EXPECT_FALSE(make_dpdk_port(chosen)->info().detects_corruption);
}

TEST_P(Veth, APortMayBeOpenedAgain) {
    if (std::string(GetParam()) == "net_af_xdp0") {
        GTEST_SKIP() << "DPDK's driver keeps the interface until the process ends";
    }
    for (int i = 0; i < 5; ++i)
        EXPECT_NO_THROW(make_dpdk_port(options()));
}

INSTANTIATE_TEST_SUITE_P(Drivers, Veth, testing::Values("net_af_packet0", "net_af_xdp0"),
                         [](const auto& driver) {
                             return std::string(driver.param) == "net_af_xdp0" ? "Xdp"
                                                                               : "PacketSocket";
                         });

}  // namespace
}  // namespace sumwire::nic
