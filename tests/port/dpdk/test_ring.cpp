// What a DPDK port does with single frames, seen from the rings under it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <array>
#include <thread>

#include "nic/dpdk/frame.h"
#include "nic/time.h"
#include "tests/port/dpdk/links.h"
#include "tests/port/traffic.h"

namespace sumwire::nic {
namespace {

using testing::HasSubstr;

constexpr MacAddress some_mac{2, 0, 0, 0, 0, 9};
constexpr Endpoint right{right_address, test_port, 0};

// The left port; the test has the far ends of the rings.
class LeftPort : public testing::Test {
  protected:
    std::unique_ptr<PacketPort> open(DpdkPortOptions options = options_of("", left_address)) {
        options.neighbors = {{right_address, some_mac}};
        return adopt_dpdk_port(link_.left_device, options);
    }
    rte_mbuf* sent() {
        void* frame = nullptr;
        return rte_ring_dequeue(link_.left_to_right, &frame) == 0 ? static_cast<rte_mbuf*>(frame)
                                                                  : nullptr;
    }
    std::size_t drain() {
        std::size_t frames = 0;
        for (; rte_mbuf* const frame = sent(); ++frames)
            rte_pktmbuf_free(frame);
        return frames;
    }
    static std::span<std::byte> bytes(rte_mbuf* frame) {
        return {rte_pktmbuf_mtod(frame, std::byte*), rte_pktmbuf_data_len(frame)};
    }

    RingLink link_;
};

TEST_F(LeftPort, BorrowedPayloadIsSentFromWhereItLies) {
    const auto port = open();
    std::vector<std::byte> memory(4096, std::byte{0x5a});
    const auto region = port->register_memory(memory);
    ASSERT_TRUE(region);
    TxPacket packet = make_message(0, 0).to(right);
    const Message message = make_message(0, 0);
    packet = message.to(right);
    packet.payload = std::span(memory).subspan(100, 1024);
    packet.region = region.get();
    ASSERT_EQ(port->transmit({&packet, 1}), 1U);

    rte_mbuf* const frame = sent();
    ASSERT_NE(frame, nullptr);
    ASSERT_EQ(frame->nb_segs, 2);
    EXPECT_EQ(frame->data_len, network_header_bytes + header_bytes);
    EXPECT_EQ(rte_pktmbuf_mtod(frame->next, std::byte*), memory.data() + 100);
    EXPECT_EQ(frame->next->data_len, 1024);
    EXPECT_EQ(region->in_flight(), 1U);
    rte_pktmbuf_free(frame);
    EXPECT_EQ(region->in_flight(), 0U);
    EXPECT_EQ(memory, std::vector(4096, std::byte{0x5a})) << "the caller's memory was written to";
}

TEST_F(LeftPort, ARegionWaitsForItsPackets) {
    const auto port = open();
    std::vector<std::byte> memory(4096);
    auto region = port->register_memory(memory);
    const Message message = make_message(0, 0);
    TxPacket packet = message.to(right);
    packet.payload = memory;
    packet.payload = packet.payload.first(1000);
    packet.region = region.get();
    for (int i = 0; i < 10; ++i)
        ASSERT_EQ(port->transmit({&packet, 1}), 1U);
    EXPECT_EQ(region->in_flight(), 10U);

    std::atomic<bool> gone = false;
    std::thread destroyer([&] {
        region.reset();
        gone = true;
    });
    int loans = 0;
    while (loans < 10) {
        EXPECT_FALSE(gone);
        rte_mbuf* const frame = sent();
        if (frame == nullptr) continue;
        loans += frame->nb_segs == 2 ? 1 : 0;
        rte_pktmbuf_free(frame);
    }
    destroyer.join();
    EXPECT_TRUE(gone);
    while (rte_mbuf* const frame = sent())
        rte_pktmbuf_free(frame);
}

// As if the peer hung: its ring is full, and frames wait in the port as well.
TEST_F(LeftPort, ARegionDoesNotWaitForeverForAPeerThatTakesNothing) {
    const auto port = open();
    std::vector<std::byte> memory(4096);
    auto region = port->register_memory(memory);
    const Message message = make_message(0, 0);
    TxPacket packet = message.to(right);
    packet.payload = std::span<const std::byte>(memory).first(1000);
    packet.region = region.get();
    while (port->transmit({&packet, 1}) == 1) {
    }
    const Time start = steady_now();
    region.reset();
    EXPECT_LT(steady_now() - start, std::chrono::seconds(10));
    // The port goes on.
    EXPECT_EQ(drain(), 1023U);
    packet.region = nullptr;
    EXPECT_EQ(port->transmit({&packet, 1}), 1U);
    EXPECT_EQ(drain(), 1U);
}

TEST_F(LeftPort, WithoutZeroCopyThereIsNoRegion) {
    auto options = options_of("", left_address);
    options.zero_copy = false;
    const auto port = open(options);
    std::vector<std::byte> memory(4096);
    EXPECT_FALSE(port->register_memory(memory));
}

TEST_F(LeftPort, ShortFramesArePaddedWithZeros) {
    const auto port = open();
    const std::array<std::byte, 3> datagram{std::byte{1}, std::byte{2}, std::byte{3}};
    const TxPacket packet{.to = right, .header = datagram, .payload = {}, .region = nullptr};
    ASSERT_EQ(port->transmit({&packet, 1}), 1U);
    rte_mbuf* const frame = sent();
    ASSERT_NE(frame, nullptr);
    EXPECT_EQ(frame->pkt_len, min_frame_bytes);
    for (const std::byte padding : bytes(frame).subspan(network_header_bytes + 3)) {
        EXPECT_EQ(padding, std::byte{0});
    }
    EXPECT_EQ(port->counters().tx_bytes, network_header_bytes + 3);
    rte_pktmbuf_free(frame);
}

TEST_F(LeftPort, AsksForUnknownNeighborsAndDropsMeanwhile) {
    const auto port = open();
    const Message message = make_message(0, 64);
    const TxPacket packet = message.to({right_address + 1, test_port, 0});
    EXPECT_EQ(port->transmit({&packet, 1}), 1U);
    rte_mbuf* const frame = sent();
    ASSERT_NE(frame, nullptr);
    EXPECT_EQ(ether_type(bytes(frame)), ether_type_arp);
    rte_pktmbuf_free(frame);
    EXPECT_EQ(sent(), nullptr);
    EXPECT_EQ(port->counters().tx_packets, 0U);
}

TEST_F(LeftPort, PushesBackWhenTheRingIsFull) {
    const auto port = open();
    const Message message = make_message(0, 64);
    const std::vector<TxPacket> burst(5000, message.to(right));
    const std::size_t taken = port->transmit(burst);
    EXPECT_LT(taken, burst.size());
    EXPECT_EQ(port->counters().tx_would_block, burst.size() - taken);
    EXPECT_EQ(port->transmit(burst), 0U) << "still full";
    EXPECT_EQ(drain(), 1023U) << "what the ring holds";
    EXPECT_EQ(port->transmit({}), 0U);
    EXPECT_EQ(drain(), taken - 1023) << "what was built when the ring was full";
    EXPECT_EQ(port->counters().tx_packets, taken);
    EXPECT_GT(port->transmit(burst), 0U);
    drain();
}

TEST_F(LeftPort, FramesBuiltForAFullRingGoFirstAndAsTheyWere) {
    const auto port = open();
    const auto messages = make_messages(1100, 64);
    std::vector<Message> scratch = messages;
    std::vector<TxPacket> burst;
    for (const Message& message : scratch)
        burst.push_back(message.to(right));
    const std::size_t taken = port->transmit(burst);
    ASSERT_GT(taken, 1023U);
    ASSERT_LT(taken, burst.size());
    // Copied payloads are the caller's again.
    for (Message& message : std::span(scratch).first(taken))
        std::ranges::fill(message.payload, std::byte{0xdd});
    std::size_t arrived = 0;
    const auto expect_in_order = [&] {
        while (rte_mbuf* const frame = sent()) {
            EXPECT_TRUE(messages[arrived++].equals(bytes(frame).subspan(network_header_bytes)));
            rte_pktmbuf_free(frame);
        }
    };
    expect_in_order();
    std::array<RxPacket, 4> nothing;
    EXPECT_EQ(port->receive(nothing), 0U) << "receiving moves them on, too";
    expect_in_order();
    EXPECT_EQ(arrived, taken);
    EXPECT_EQ(port->transmit(std::span<const TxPacket>(burst).subspan(taken)), 1100 - taken);
    expect_in_order();
    EXPECT_EQ(arrived, 1100U);
}

TEST_F(LeftPort, BuffersOutliveTheirPort) {
    auto port = open();
    const Message message = make_message(0, 64);
    const TxPacket packet = message.to(right);
    ASSERT_EQ(port->transmit({&packet, 1}), 1U);
    rte_mbuf* const frame = sent();
    port.reset();
    ASSERT_NE(frame, nullptr);
    EXPECT_TRUE(message.equals(bytes(frame).subspan(network_header_bytes)));
    rte_pktmbuf_free(frame);
}

// Frames from the left port, which the test may change before the right port sees them.
class Frames : public testing::Test {
  protected:
    void SetUp() override {
        auto options = options_of("", left_address);
        options.checksum = UdpChecksum::on;
        options.neighbors = {{right_address, some_mac}};
        left_ = adopt_dpdk_port(link_.left_device, options);
        right_ = adopt_dpdk_port(link_.right_device, options_of("", right_address));
    }
    // Whether the right port receives it.
    bool passes(const std::function<void(rte_mbuf&)>& change) {
        const TxPacket packet = message_.to(right);
        EXPECT_EQ(left_->transmit({&packet, 1}), 1U);
        void* frame = nullptr;
        EXPECT_EQ(rte_ring_dequeue(link_.left_to_right, &frame), 0);
        change(*static_cast<rte_mbuf*>(frame));
        EXPECT_EQ(rte_ring_enqueue(link_.left_to_right, frame), 0);
        RxPacket received;
        const std::uint64_t malformed = right_->counters().rx_malformed;
        const bool passed = right_->receive({&received, 1}) == 1;
        if (passed) {
            EXPECT_TRUE(message_.equals(received.datagram));
            right_->release({&received, 1});
        }
        EXPECT_EQ(right_->counters().rx_malformed - malformed, passed ? 0U : 1U);
        return passed;
    }
    static std::byte& at(rte_mbuf& frame, std::size_t offset) {
        return *rte_pktmbuf_mtod_offset(&frame, std::byte*, offset);
    }

    const Message message_ = make_message(3, 200);
    RingLink link_;
    std::unique_ptr<PacketPort> left_;
    std::unique_ptr<PacketPort> right_;
};

TEST_F(Frames, UnchangedPass) {
    EXPECT_TRUE(passes([](rte_mbuf&) {}));
}

TEST_F(Frames, EveryDamagedByteFromTheIpHeaderOnIsFound) {
    for (std::size_t i = ethernet_header_bytes; i < network_header_bytes + message_.size(); ++i) {
        EXPECT_FALSE(passes([&](rte_mbuf& frame) { at(frame, i) ^= std::byte{0x40}; }))
            << "byte " << i;
    }
}

TEST_F(Frames, WithoutChecksumPass) {
    EXPECT_TRUE(passes([](rte_mbuf& frame) {
        at(frame, network_header_bytes - 2) = std::byte{0};
        at(frame, network_header_bytes - 1) = std::byte{0};
    }));
}

TEST_F(Frames, TruncatedOnesAreDropped) {
    for (std::uint16_t cut = 1; cut < network_header_bytes + message_.size(); cut += 7) {
        EXPECT_FALSE(passes([&](rte_mbuf& frame) { rte_pktmbuf_trim(&frame, cut); })) << cut;
    }
}

TEST_F(Frames, PaddedOnesPass) {
    EXPECT_TRUE(passes([](rte_mbuf& frame) { rte_pktmbuf_append(&frame, 20); }));
}

TEST_F(Frames, SegmentedOnesArriveInOnePiece) {
    EXPECT_TRUE(passes([](rte_mbuf& frame) {
        rte_mbuf* const tail = rte_pktmbuf_alloc(frame.pool);
        constexpr std::uint16_t cut = 150;
        char* const room = rte_pktmbuf_append(tail, cut);
        std::memcpy(room, rte_pktmbuf_mtod_offset(&frame, char*, frame.data_len - cut), cut);
        rte_pktmbuf_trim(&frame, cut);
        ASSERT_EQ(rte_pktmbuf_chain(&frame, tail), 0);
    }));
}

TEST_F(Frames, ThoseWithAVlanTagAreDropped) {
    EXPECT_FALSE(passes([](rte_mbuf& frame) { at(frame, 12) = std::byte{0x81}; }));
    EXPECT_FALSE(passes([](rte_mbuf& frame) { frame.ol_flags |= RTE_MBUF_F_RX_VLAN_STRIPPED; }));
}

TEST_F(Frames, TheDevicesVerdictCounts) {
    EXPECT_TRUE(passes([](rte_mbuf& frame) { frame.ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD; }));
}

TEST(DpdkPorts, ThreadsMayComeAndGo) {
    PortPair pair = ring_pair();
    for (std::uint32_t i = 0; i < 300; ++i) {
        std::thread([&] {
            Traffic(*pair.a, *pair.b, pair.b_seen_from_a, pair.a_seen_from_b, true)
                .deliver(make_messages(1, 64));
        }).join();
        ASSERT_FALSE(testing::Test::HasFailure());
    }
}

TEST(DpdkPorts, MayBeMadeAndDestroyedOften) {
    for (int i = 0; i < 40; ++i) {
        ring_pair();
        if (testing::Test::HasFailure()) return;
    }
}

TEST(DpdkPorts, ToItselfOverALoop) {
    const auto port = make_dpdk_port(options_of("net_ring77", left_address));
    Traffic(*port, *port, port->info().local, port->info().local, false)
        .deliver(make_messages(1, 64));
}

struct Misfit {
    const char* name;
    std::function<void(DpdkPortOptions&)> adjust;
    const char* says;
};

class Misfits : public testing::TestWithParam<Misfit> {};

TEST_P(Misfits, AreRefusedWithTheRemedy) {
    auto options = options_of("net_null0", left_address);
    GetParam().adjust(options);
    try {
        make_dpdk_port(options);
        FAIL() << "was accepted";
    } catch (const SetupError& error) {
        EXPECT_THAT(error.what(), HasSubstr(GetParam().says));
    }
}

INSTANTIATE_TEST_SUITE_P(
    DpdkPorts, Misfits,
    testing::Values(
        Misfit{"SmallMtu", [](auto& o) { o.mtu = 100; }, "set it with 'mtu='"},
        Misfit{"LargeMtu", [](auto& o) { o.mtu = 65500; }, "set it with 'mtu='"},
        Misfit{"Prefix", [](auto& o) { o.prefix_length = 33; }, "0 to 32"},
        Misfit{"Gateway", [](auto& o) { o.gateway = 1; }, "same subnet"},
        Misfit{"NoDevice", [](auto& o) { o.device = ""; }, "needs a device"},
        Misfit{"NoSuchDriver", [](auto& o) { o.device = "net_nonsense0"; }, "driver's name"},
        Misfit{"OddOption", [](auto& o) { o.device = "net_null0,nonsense=1"; }, "options"},
        Misfit{"Bus", [](auto& o) { o.device = "0000:3b:00.0"; }, "--allow=0000:3b:00.0"},
        Misfit{"EalArguments", [](auto& o) { o.eal_arguments = "-m 77"; }, "runs already"}),
    [](const auto& misfit) { return misfit.param.name; });

TEST(DpdkPorts, ADeviceServesOnePort) {
    const auto first = make_dpdk_port(options_of("net_null1,no-rx=1", left_address));
    try {
        make_dpdk_port(options_of("net_null1,no-rx=1", left_address));
        FAIL() << "was accepted";
    } catch (const SetupError& error) {
        EXPECT_THAT(error.what(), HasSubstr("another number"));
    }
}

TEST(DpdkPorts, MemoryIsSaidToBeMemory) {
    const auto port = make_dpdk_port(options_of("net_null2,no-rx=1", left_address));
    EXPECT_THAT(port->info().description, HasSubstr("net_null2 (memory, no network"));
    EXPECT_TRUE(port->info().detects_corruption);
    EXPECT_EQ(port->info().max_datagram, 1472U);
}

TEST(DpdkPorts, AddressesAreMadeUpOnThePeersSubnet) {
    DpdkPortOptions options;
    options.device = "net_null3,no-rx=1";
    options.peer = Endpoint{0xc0a80705, 1, 0};
    const auto port = make_dpdk_port(options);
    EXPECT_EQ(port->info().local.address >> 8, 0xc0a807U);
    EXPECT_NE(port->info().local.address, options.peer->address);
    EXPECT_GE(port->info().local.port, 49152);
}

}  // namespace
}  // namespace sumwire::nic
