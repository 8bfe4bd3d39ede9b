#include <gtest/gtest.h>

#include <array>
#include <map>
#include <vector>

#include "nic/composite_port.h"
#include "nic/udp/udp_port.h"
#include "tests/unit/nic/scripted_port.h"

namespace sumwire::nic {
namespace {

class CompositePortTest : public ::testing::Test {
  protected:
    std::unique_ptr<CompositePort> make() {
        std::vector<std::unique_ptr<PacketPort>> members;
        for (PortScript& script : scripts_)
            members.push_back(std::make_unique<ScriptedPort>(script));
        return std::make_unique<CompositePort>(std::move(members));
    }

    // Packets to these links; the UDP port is the position in the burst.
    static std::vector<TxPacket> packets(const std::vector<std::uint16_t>& links) {
        std::vector<TxPacket> result(links.size());
        for (std::size_t i = 0; i < links.size(); ++i) {
            result[i].to = {9, static_cast<std::uint16_t>(i), links[i]};
        }
        return result;
    }

    static std::vector<std::uint16_t> ports(const PortScript& script) {
        std::vector<std::uint16_t> result;
        for (const TxPacket& packet : script.transmitted)
            result.push_back(packet.to.port);
        return result;
    }

    std::array<PortScript, 3> scripts_;
};

using Ports = std::vector<std::uint16_t>;

TEST_F(CompositePortTest, DispatchesRunsByLink) {
    auto port = make();
    EXPECT_EQ(port->transmit(packets({0, 0, 2, 2, 2, 1, 0})), 7U);
    EXPECT_EQ(ports(scripts_[0]), (Ports{0, 1, 6}));
    EXPECT_EQ(ports(scripts_[1]), (Ports{5}));
    EXPECT_EQ(ports(scripts_[2]), (Ports{2, 3, 4}));
    EXPECT_EQ(scripts_[0].bursts, (std::vector<std::size_t>{2, 1}));
    EXPECT_EQ(scripts_[2].bursts, (std::vector<std::size_t>{3}));
    for (const TxPacket& packet : scripts_[2].transmitted)
        EXPECT_EQ(packet.to.link, 0);
}

TEST_F(CompositePortTest, AMemberThatBlocksEndsTheBurst) {
    scripts_[1].room = 2;
    auto port = make();
    EXPECT_EQ(port->transmit(packets({0, 1, 1, 1, 2, 0})), 3U);
    EXPECT_EQ(ports(scripts_[0]), (Ports{0}));
    EXPECT_EQ(ports(scripts_[1]), (Ports{1, 2}));
    EXPECT_TRUE(scripts_[2].transmitted.empty());
    EXPECT_EQ(port->counters().tx_would_block, 3U);
}

TEST_F(CompositePortTest, ALinkOfNobodyIsDropped) {
    auto port = make();
    EXPECT_EQ(port->transmit(packets({3, 0, 7})), 3U);
    EXPECT_EQ(ports(scripts_[0]), (Ports{1}));
}

TEST_F(CompositePortTest, LongRunsKeepTheirOrder) {
    auto port = make();
    EXPECT_EQ(port->transmit(packets(std::vector<std::uint16_t>(1000, 1))), 1000U);
    for (std::size_t i = 0; i < 1000; ++i)
        EXPECT_EQ(scripts_[1].transmitted[i].to.port, i);
}

TEST_F(CompositePortTest, ReceivesFairlyAndReleasesToTheOwner) {
    for (PortScript& script : scripts_)
        script.to_receive.assign(1000, 5);
    auto port = make();
    std::map<std::uint16_t, std::size_t> by_link;
    for (int i = 0; i < 30; ++i) {
        std::array<RxPacket, 10> burst;
        ASSERT_EQ(port->receive(burst), burst.size());
        for (const RxPacket& packet : burst)
            ++by_link[packet.from.link];
        port->release(burst);
    }
    for (std::uint16_t link = 0; link < 3; ++link) {
        EXPECT_EQ(by_link[link], 100U);
        EXPECT_EQ(scripts_[link].released.size(), 100U);
    }
}

TEST_F(CompositePortTest, FillsABurstFromSeveralMembers) {
    scripts_[0].to_receive = {10};
    scripts_[2].to_receive = {20, 21};
    auto port = make();
    std::array<RxPacket, 10> burst;
    ASSERT_EQ(port->receive(burst), 3U);
    EXPECT_EQ(burst[0].from, (Endpoint{9, 10, 0}));
    EXPECT_EQ(burst[1].from, (Endpoint{9, 20, 2}));
    EXPECT_EQ(burst[2].from, (Endpoint{9, 21, 2}));
    const std::array<RxPacket, 3> shuffled{burst[2], burst[0], burst[1]};
    port->release(shuffled);
    EXPECT_EQ(scripts_[0].released, (Ports{10}));
    EXPECT_EQ(scripts_[2].released, (Ports{21, 20}));
}

TEST_F(CompositePortTest, InfoIsWhatEveryMemberCanDo) {
    scripts_[1].info.max_datagram = 500;
    scripts_[2].info.detects_corruption = false;
    scripts_[0].info.receive_capacity = 0;
    scripts_[1].info.receive_capacity = 70;
    scripts_[2].info.receive_capacity = 60;
    const auto port = make();
    EXPECT_EQ(port->info().max_datagram, 500U);
    EXPECT_FALSE(port->info().detects_corruption);
    EXPECT_EQ(port->info().receive_capacity, 60U);
    EXPECT_EQ(port->info().local, scripts_[0].info.local);
    EXPECT_EQ(port->info().description, "scripted + scripted + scripted");
}

TEST_F(CompositePortTest, CountersAreSums) {
    for (PortScript& script : scripts_)
        script.counters = {1, 20, 3, 40, 5, 6};
    const PortCounters counters = make()->counters();
    EXPECT_EQ(counters.tx_packets, 3U);
    EXPECT_EQ(counters.tx_bytes, 60U);
    EXPECT_EQ(counters.rx_packets, 9U);
    EXPECT_EQ(counters.rx_bytes, 120U);
    EXPECT_EQ(counters.rx_malformed, 18U);
}

TEST_F(CompositePortTest, EachMemberSeesItsOwnRegion) {
    scripts_[0].borrows = true;
    scripts_[2].borrows = true;
    scripts_[0].in_flight = 3;
    scripts_[2].in_flight = 4;
    auto port = make();
    std::array<std::byte, 64> memory;
    const auto region = port->register_memory(memory);
    ASSERT_NE(region, nullptr);
    EXPECT_EQ(region->in_flight(), 7U);
    auto burst = packets({0, 1, 2});
    for (TxPacket& packet : burst)
        packet.region = region.get();
    EXPECT_EQ(port->transmit(burst), 3U);
    EXPECT_EQ(scripts_[0].transmitted[0].region, scripts_[0].regions[0]);
    EXPECT_EQ(scripts_[1].transmitted[0].region, nullptr);
    EXPECT_EQ(scripts_[2].transmitted[0].region, scripts_[2].regions[0]);
}

TEST_F(CompositePortTest, WithoutBorrowingMembersThereIsNoRegion) {
    std::array<std::byte, 64> memory;
    EXPECT_EQ(make()->register_memory(memory), nullptr);
}

TEST_F(CompositePortTest, WaitAsksMembersInTurnForShortTimes) {
    auto port = make();
    // A scripted wait returns at once, which looks like an arrival.
    for (int i = 0; i < 6; ++i)
        port->wait(std::chrono::milliseconds(50));
    for (const PortScript& script : scripts_) {
        ASSERT_EQ(script.waits.size(), 2U);
        EXPECT_LE(script.waits[0], std::chrono::milliseconds(1));
    }
}

TEST_F(CompositePortTest, WaitNapsOnceOverAMemberThatIsBlindToArrivals) {
    scripts_[1].info.signals_arrivals = false;
    auto port = make();
    EXPECT_FALSE(port->info().signals_arrivals);
    for (int i = 0; i < 3; ++i)
        port->wait(std::chrono::milliseconds(50));
    EXPECT_TRUE(scripts_[0].waits.empty());
    EXPECT_TRUE(scripts_[2].waits.empty());
    EXPECT_EQ(scripts_[1].waits,
              (std::vector<std::chrono::microseconds>(3, std::chrono::microseconds(50))));
}

TEST_F(CompositePortTest, WaitReturnsAtOnceWhileMembersMayHoldMore) {
    scripts_[0].to_receive = {1, 2, 3};
    auto port = make();
    std::array<RxPacket, 3> burst;
    EXPECT_EQ(port->receive(burst), 3U);
    port->wait(std::chrono::milliseconds(50));
    for (const PortScript& script : scripts_)
        EXPECT_TRUE(script.waits.empty());
}

TEST(CompositePort, OneWaitListensToAllSocketsAtOnce) {
    using Clock = std::chrono::steady_clock;
    std::vector<std::unique_ptr<PacketPort>> members;
    for (int i = 0; i < 3; ++i) {
        members.push_back(std::make_unique<UdpPort>(
            UdpPortOptions{.bind = {0x7f000001, 0, 0}, .mtu = 1500, .peer = {}}));
    }
    const Endpoint last = members[2]->info().local;
    CompositePort port(std::move(members));
    std::array<RxPacket, 4> burst;
    EXPECT_EQ(port.receive(burst), 0U);

    const auto before = Clock::now();
    port.wait(std::chrono::milliseconds(20));
    EXPECT_GE(Clock::now() - before, std::chrono::milliseconds(20)) << "nothing came";

    UdpPort sender({.bind = {0x7f000001, 0, 0}, .mtu = 1500, .peer = {}});
    const std::array<std::byte, 64> datagram{};
    const TxPacket packet{.to = last, .header = datagram, .payload = {}};
    ASSERT_EQ(sender.transmit({&packet, 1}), 1U);
    const auto start = Clock::now();
    port.wait(std::chrono::seconds(20));
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
    ASSERT_EQ(port.receive(burst), 1U);
    EXPECT_EQ(burst[0].from.link, 2);
    port.release(std::span(burst).first(1));
}

TEST(CompositePort, RejectsNothingAndNesting) {
    EXPECT_THROW(CompositePort({}), SetupError);
    PortScript script;
    std::vector<std::unique_ptr<PacketPort>> inner;
    inner.push_back(std::make_unique<ScriptedPort>(script));
    std::vector<std::unique_ptr<PacketPort>> outer;
    outer.push_back(std::make_unique<ScriptedPort>(script));
    outer.push_back(std::make_unique<CompositePort>(std::move(inner)));
    EXPECT_THROW(CompositePort(std::move(outer)), SetupError);
}

}  // namespace
}  // namespace sumwire::nic
