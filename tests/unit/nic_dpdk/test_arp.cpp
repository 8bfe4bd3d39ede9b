#include <gtest/gtest.h>

#include "nic/dpdk/arp.h"
#include "nic/port.h"
#include "tests/unit/nic/bytes.h"

namespace sumwire::nic {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t net = 0x0a000000;  // 10.0.0.0/24
constexpr std::uint32_t me = net | 1;
constexpr std::uint32_t peer = net | 2;
constexpr std::uint32_t router = net | 254;
constexpr std::uint32_t far_away = 0xc0a80001;
constexpr MacAddress my_mac{2, 0, 0, 0, 0, 1};
constexpr MacAddress peer_mac{2, 0, 0, 0, 0, 2};
constexpr MacAddress other_mac{2, 0, 0, 0, 0, 3};

ArpHost host() {
    ArpHost result;
    result.address = me;
    result.mac = my_mac;
    return result;
}

ArpPacket question(std::uint32_t from, const MacAddress& mac, std::uint32_t target) {
    return {.request = true, .sender_mac = mac, .sender = from, .target_mac = {}, .target = target};
}

ArpPacket reply(std::uint32_t from, const MacAddress& mac) {
    return {
        .request = false, .sender_mac = mac, .sender = from, .target_mac = my_mac, .target = me};
}

std::optional<MacAddress> known(ArpTable& table, std::uint32_t address, Time now) {
    const auto resolution = table.resolve(address, now);
    return resolution.mac == nullptr ? std::nullopt : std::optional(*resolution.mac);
}

TEST(ArpFrame, RequestIsAsByHand) {
    std::array<std::byte, arp_frame_bytes> out;
    write_arp_frame(question(me, my_mac, peer), out);
    const auto expected = bytes(
                              "ffffffffffff 020000000001 0806"
                              "0001 0800 06 04 0001"
                              "020000000001 0a000001 000000000000 0a000002") +
                          zeros(18);
    EXPECT_EQ(std::vector(out.begin(), out.end()), expected);
    EXPECT_EQ(read_arp_frame(out), question(me, my_mac, peer));
}

TEST(ArpFrame, ReplyIsAsByHand) {
    std::array<std::byte, arp_frame_bytes> out;
    write_arp_frame(reply(peer, peer_mac), out);
    const auto expected = bytes(
                              "020000000001 020000000002 0806"
                              "0001 0800 06 04 0002"
                              "020000000002 0a000002 020000000001 0a000001") +
                          zeros(18);
    EXPECT_EQ(std::vector(out.begin(), out.end()), expected);
    EXPECT_EQ(read_arp_frame(out), reply(peer, peer_mac));
}

TEST(ArpFrame, OddOnesAreRefused) {
    std::array<std::byte, arp_frame_bytes> out;
    write_arp_frame(question(me, my_mac, peer), out);
    for (std::size_t size = 0; size < 42; ++size) {
        EXPECT_FALSE(read_arp_frame(std::span(out).first(size))) << size;
    }
    // Ether type, hardware, protocol, lengths, operation.
    for (const std::size_t byte : {12U, 13U, 14U, 15U, 16U, 17U, 18U, 19U, 20U, 21U}) {
        auto odd = out;
        odd[byte] ^= std::byte{0x10};
        EXPECT_FALSE(read_arp_frame(odd)) << "byte " << byte;
    }
}

TEST(ArpTable, AsksThenKnows) {
    ArpTable table(host());
    const auto first = table.resolve(peer, 0s);
    EXPECT_EQ(first.mac, nullptr);
    EXPECT_EQ(first.ask, question(me, my_mac, peer));
    EXPECT_FALSE(table.receive(reply(peer, peer_mac), 1ms));
    const auto second = table.resolve(peer, 2ms);
    ASSERT_NE(second.mac, nullptr);
    EXPECT_EQ(*second.mac, peer_mac);
    EXPECT_FALSE(second.ask);
}

TEST(ArpTable, AsksTenTimesQuicklyThenOnceASecond) {
    ArpTable table(host());
    int asked = 0;
    Time last{};
    for (Time now = 0ms; now < 900ms; now += 1ms) {
        if (table.resolve(peer, now).ask) {
            ++asked;
            last = now;
        }
    }
    EXPECT_EQ(asked, 9);
    EXPECT_EQ(last, 800ms);
    asked = 0;
    for (Time now = 900ms; now < 10900ms; now += 1ms)
        asked += table.resolve(peer, now).ask ? 1 : 0;
    EXPECT_EQ(asked, 10);
}

TEST(ArpTable, AnswersQuestionsForItsOwnAddressOnly) {
    ArpTable table(host());
    const auto answer = table.receive(question(peer, peer_mac, me), 0s);
    ASSERT_TRUE(answer);
    EXPECT_EQ(*answer, (ArpPacket{.request = false,
                                  .sender_mac = my_mac,
                                  .sender = me,
                                  .target_mac = peer_mac,
                                  .target = peer}));
    EXPECT_EQ(known(table, peer, 0s), peer_mac) << "who asks is known";
    EXPECT_FALSE(table.receive(question(peer, peer_mac, net | 9), 0s));
}

TEST(ArpTable, AnswersAProbeWithoutLearning) {
    ArpTable table(host());
    EXPECT_TRUE(table.receive(question(0, peer_mac, me), 0s));
    EXPECT_EQ(known(table, peer, 0s), std::nullopt);
}

TEST(ArpTable, AnnouncementsChangeWhatIsKnownAndNothingElse) {
    ArpTable table(host());
    EXPECT_FALSE(table.receive(question(peer, peer_mac, peer), 0s));
    EXPECT_EQ(known(table, peer, 0s), std::nullopt);
    EXPECT_FALSE(table.receive(question(peer, other_mac, peer), 0s));
    EXPECT_EQ(known(table, peer, 0s), other_mac);
}

TEST(ArpTable, RepliesNobodyAskedForAreIgnored) {
    ArpTable table(host());
    table.receive(reply(peer, peer_mac), 0s);
    EXPECT_EQ(known(table, peer, 0s), std::nullopt);
}

TEST(ArpTable, LearnsFromOtherFrames) {
    ArpTable table(host());
    table.heard(peer, peer_mac, 0s);
    EXPECT_EQ(known(table, peer, 0s), peer_mac);
    table.heard(peer, other_mac, 1s);
    EXPECT_EQ(known(table, peer, 1s), other_mac);
}

TEST(ArpTable, DoesNotBelieveGroupAddressesOrOtherSubnets) {
    ArpTable table(host());
    table.heard(peer, broadcast_mac, 0s);
    table.heard(net | 3, MacAddress{}, 0s);
    table.heard(far_away, peer_mac, 0s);
    EXPECT_EQ(known(table, peer, 0s), std::nullopt);
    EXPECT_EQ(known(table, net | 3, 0s), std::nullopt);
    EXPECT_EQ(known(table, far_away, 0s), std::nullopt);
    EXPECT_FALSE(table.receive(question(net | 4, broadcast_mac, me), 0s));
}

TEST(ArpTable, FixedNeighborsAreNeitherAskedForNorChanged) {
    auto with_fixed = host();
    with_fixed.neighbors = {{peer, peer_mac}, {far_away, other_mac}};
    ArpTable table(with_fixed);
    table.receive(question(peer, other_mac, me), 0s);
    table.heard(peer, other_mac, 0s);
    const auto resolution = table.resolve(peer, 3600s);
    ASSERT_NE(resolution.mac, nullptr);
    EXPECT_EQ(*resolution.mac, peer_mac);
    EXPECT_FALSE(resolution.ask);
    EXPECT_EQ(known(table, far_away, 0s), other_mac);
}

TEST(ArpTable, KnowsItself) {
    ArpTable table(host());
    table.receive(question(me, other_mac, me), 0s);  // somebody claims our address
    EXPECT_EQ(known(table, me, 0s), my_mac);
}

TEST(ArpTable, FarAddressesGoThroughTheGateway) {
    auto with_gateway = host();
    with_gateway.gateway = router;
    ArpTable table(with_gateway);
    const auto resolution = table.resolve(far_away, 0s);
    ASSERT_TRUE(resolution.ask);
    EXPECT_EQ(resolution.ask->target, router);
    table.receive(reply(router, other_mac), 0s);
    EXPECT_EQ(known(table, far_away, 0s), other_mac);
}

TEST(ArpTable, AddressesThatNobodyHasAreNotAskedFor) {
    ArpTable table(host());
    for (const std::uint32_t address : {far_away, net, net | 255, 0xffffffffU, 0xe0000001U, 0U}) {
        const auto resolution = table.resolve(address, 0s);
        EXPECT_EQ(resolution.mac, nullptr) << std::hex << address;
        EXPECT_FALSE(resolution.ask) << std::hex << address;
    }
}

TEST(ArpTable, ChecksSilentNeighborsWhileUsingThem) {
    ArpTable table(host());
    table.heard(peer, peer_mac, 0s);
    EXPECT_FALSE(table.resolve(peer, 59s).ask);
    const auto stale = table.resolve(peer, 61s);
    ASSERT_NE(stale.mac, nullptr);
    EXPECT_TRUE(stale.ask);
    EXPECT_FALSE(table.resolve(peer, 61s + 999ms).ask);
    EXPECT_TRUE(table.resolve(peer, 62s).ask);
    table.heard(peer, peer_mac, 63s);
    EXPECT_FALSE(table.resolve(peer, 100s).ask);
}

TEST(ArpTable, StrangersCannotPushOutThoseWeTalkTo) {
    auto wide = host();
    wide.prefix_length = 8;
    ArpTable table(wide);
    for (std::uint32_t i = 2; i < 1026; ++i) {
        table.resolve(net + i, 0s);
        table.receive(reply(net + i, peer_mac), 0s);
    }
    for (std::uint32_t i = 0; i < 100000; ++i)
        table.heard(net + 0x10000 + i, other_mac, 1s);
    for (std::uint32_t i = 2; i < 1026; ++i) {
        // Those that end in 0 or 255 are hosts in a /8 as well.
        ASSERT_EQ(known(table, net + i, 2s), peer_mac) << i;
    }
}

TEST(ArpTable, IsBoundedAndKeepsTheLatest) {
    auto wide = host();
    wide.prefix_length = 8;
    ArpTable table(wide);
    for (std::uint32_t i = 2; i < 50000; ++i) {
        const Time now = std::chrono::milliseconds(i);
        table.resolve(net + i, now);
        table.receive(reply(net + i, peer_mac), now);
    }
    EXPECT_EQ(known(table, net + 49999, 50s), peer_mac);
    EXPECT_EQ(known(table, net + 100, 50s), std::nullopt);
}

TEST(ArpTable, RefusesAGatewayOffTheSubnet) {
    auto odd = host();
    odd.gateway = far_away;
    EXPECT_THROW(ArpTable{odd}, SetupError);
}

}  // namespace
}  // namespace sumwire::nic
