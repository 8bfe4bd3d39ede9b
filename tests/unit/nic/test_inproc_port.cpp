#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "nic/inproc/index_pool.h"
#include "nic/inproc/index_ring.h"
#include "nic/inproc/inproc_port.h"
#include "tests/unit/nic/bytes.h"

namespace sumwire::nic {
namespace {

std::string fresh_network() {
    static int count = 0;
    return "unit" + std::to_string(count++);
}

InprocPortOptions on(const std::string& network) {
    InprocPortOptions options;
    options.network = network;
    return options;
}

InprocPortOptions on(const std::string& network, std::optional<std::uint32_t> ip,
                     std::uint16_t udp_port) {
    InprocPortOptions options = on(network);
    options.ip = ip;
    options.udp_port = udp_port;
    return options;
}

TxPacket packet_to(const Endpoint& to, std::span<const std::byte> header,
                   std::span<const std::byte> payload = {}) {
    TxPacket packet;
    packet.to = to;
    packet.header = header;
    packet.payload = payload;
    return packet;
}

TEST(InprocPort, AddressesAreGivenInTurnAndReused) {
    const std::string network = fresh_network();
    const InprocPort first(on(network));
    auto second = std::make_unique<InprocPort>(on(network));
    const InprocPort third(on(network));
    EXPECT_EQ(first.info().local.address, 0x7f010001U);
    EXPECT_EQ(second->info().local.address, 0x7f010002U);
    EXPECT_EQ(third.info().local.address, 0x7f010003U);
    second.reset();
    EXPECT_EQ(InprocPort(on(network)).info().local.address, 0x7f010002U);
}

TEST(InprocPort, TakesTheEndpointAskedFor) {
    const std::string network = fresh_network();
    const InprocPort port(on(network, 0x7f010909, 1234));
    EXPECT_EQ(port.info().local, (Endpoint{0x7f010909, 1234, 0}));
    // Another port of the same address, or of the same number elsewhere, is fine.
    EXPECT_NE(InprocPort(on(network, 0x7f010909, 0)).info().local.port, 1234);
    EXPECT_EQ(InprocPort(on(network, {}, 1234)).info().local, (Endpoint{0x7f010001, 1234, 0}));
    try {
        InprocPort(on(network, 0x7f010909, 1234));
        FAIL() << "taken twice";
    } catch (const SetupError& error) {
        const std::string what = error.what();
        EXPECT_NE(what.find("127.1.9.9:1234"), std::string::npos) << what;
        EXPECT_NE(what.find("choose another"), std::string::npos) << what;
    }
}

TEST(InprocPort, NetworksAreSeparate) {
    InprocPort a(on(fresh_network()));
    InprocPort b(on(fresh_network(), 0x7f010002, 99));
    const TxPacket packet = packet_to(b.info().local, bytes("0102"));
    EXPECT_EQ(a.transmit({&packet, 1}), 1U);
    RxPacket received;
    EXPECT_EQ(b.receive({&received, 1}), 0U);
}

TEST(InprocPort, ANetworkEndsWithItsLastPort) {
    const std::string network = fresh_network();
    const Endpoint endpoint{0x7f010001, 7, 0};
    for (int i = 0; i < 3; ++i) {
        InprocPort port(on(network, endpoint.address, endpoint.port));
        const auto datagram = bytes("0102");
        const TxPacket packet = packet_to(endpoint, datagram);
        EXPECT_EQ(port.transmit({&packet, 1}), 1U);
    }
    // What the earlier ones did not read is gone with them.
    InprocPort port(on(network, endpoint.address, endpoint.port));
    RxPacket received;
    EXPECT_EQ(port.receive({&received, 1}), 0U);
}

TEST(InprocPort, PushesBackWhenTheReceiverIsFullAndGoesOnAfterARelease) {
    const std::string network = fresh_network();
    InprocPort sender(on(network));
    InprocPort receiver(on(network));
    const auto datagram = bytes("0102030405");
    const std::vector<TxPacket> burst(5000, packet_to(receiver.info().local, datagram));
    const std::size_t taken = sender.transmit(burst);
    EXPECT_EQ(taken, 2048U);
    EXPECT_EQ(sender.transmit(burst), 0U);
    EXPECT_EQ(sender.counters().tx_would_block, 5000U - 2048 + 5000);

    // Held buffers are not free.
    std::vector<RxPacket> held(100);
    ASSERT_EQ(receiver.receive(held), held.size());
    EXPECT_EQ(sender.transmit(burst), 0U);
    receiver.release(std::span(held).first(40));
    EXPECT_EQ(sender.transmit(burst), 40U);
    receiver.release(std::span(held).subspan(40));
    EXPECT_EQ(sender.transmit(burst), 60U);
}

TEST(InprocPort, AFullReceiverThatLeavesNoLongerPushesBack) {
    const std::string network = fresh_network();
    InprocPort sender(on(network));
    auto receiver = std::make_unique<InprocPort>(on(network));
    const auto datagram = bytes("0102");
    const std::vector<TxPacket> burst(3000, packet_to(receiver->info().local, datagram));
    EXPECT_LT(sender.transmit(burst), burst.size());
    receiver.reset();
    EXPECT_EQ(sender.transmit(burst), burst.size());
}

TEST(InprocPort, DropsWhatIsTooLargeForTheReceiver) {
    const std::string network = fresh_network();
    InprocPort sender({network, {}, 0, 9000});
    InprocPort receiver({network, {}, 0, 1500});
    EXPECT_EQ(sender.info().max_datagram, 8972U);
    EXPECT_EQ(receiver.info().max_datagram, 1472U);
    const auto fits = zeros(1472);
    const auto too_large = zeros(1473);
    const std::array<TxPacket, 2> burst{packet_to(receiver.info().local, {}, too_large),
                                        packet_to(receiver.info().local, {}, fits)};
    EXPECT_EQ(sender.transmit(burst), 2U);
    std::array<RxPacket, 2> received;
    ASSERT_EQ(receiver.receive(received), 1U);
    EXPECT_EQ(received[0].datagram.size(), 1472U);
    receiver.release(std::span(received).first(1));
    EXPECT_EQ(sender.counters().tx_packets, 1U);
}

// Four senders, two of which come and go, and one receiver; each sender's packets stay in order.
TEST(InprocPort, ManySendersKeepTheirOrder) {
    const std::string network = fresh_network();
    InprocPort receiver(on(network, 0x7f010063, 500));
    const Endpoint to = receiver.info().local;
    constexpr std::uint32_t per_sender = 20000;
    std::vector<std::thread> senders;
    for (std::uint32_t s = 0; s < 4; ++s) {
        senders.emplace_back([&, s] {
            auto port = std::make_unique<InprocPort>(on(network));
            for (std::uint32_t i = 0; i < per_sender;) {
                std::array<std::uint32_t, 2> content{s, i};
                const TxPacket packet = packet_to(to, std::as_bytes(std::span(content)));
                if (port->transmit({&packet, 1}) == 1) {
                    ++i;
                } else {
                    std::this_thread::yield();
                }
                if (s >= 2 && i % 1000 == 0) {
                    port.reset();
                    port = std::make_unique<InprocPort>(on(network));
                }
            }
        });
    }
    std::array<std::uint32_t, 4> next{};
    std::uint32_t total = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (total < 4 * per_sender && std::chrono::steady_clock::now() < end) {
        std::array<RxPacket, 32> burst;
        const std::size_t count = receiver.receive(burst);
        for (const RxPacket& packet : std::span(burst).first(count)) {
            std::array<std::uint32_t, 2> content{};
            ASSERT_EQ(packet.datagram.size(), sizeof content);
            std::memcpy(content.data(), packet.datagram.data(), sizeof content);
            ASSERT_LT(content[0], 4U);
            EXPECT_EQ(content[1], next[content[0]]++);
            ++total;
        }
        receiver.release(std::span(burst).first(count));
        if (count == 0) receiver.wait(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(total, 4 * per_sender);
    for (std::thread& sender : senders)
        sender.join();
}

TEST(IndexPool, GivesEachIndexOnce) {
    IndexPool pool(5);
    std::vector<bool> seen(5, false);
    for (int i = 0; i < 5; ++i) {
        const auto index = pool.take();
        ASSERT_TRUE(index.has_value());
        ASSERT_LT(*index, 5U);
        EXPECT_FALSE(seen[*index]);
        seen[*index] = true;
    }
    EXPECT_FALSE(pool.take().has_value());
    pool.give(3);
    EXPECT_EQ(pool.take(), 3U);
    EXPECT_FALSE(IndexPool(0).take().has_value());
}

// Indices go round between takers and one reader; none is lost or doubled.
TEST(IndexRing, PassesIndicesBetweenThreads) {
    constexpr std::uint32_t count = 37;
    constexpr std::uint32_t per_writer = 30000;
    IndexPool pool(count);
    IndexRing ring(count);
    std::array<std::uint32_t, count> contents{};
    std::vector<std::thread> writers;
    for (std::uint32_t w = 0; w < 3; ++w) {
        writers.emplace_back([&, w] {
            for (std::uint32_t i = 1; i <= per_writer;) {
                if (const auto index = pool.take()) {
                    contents[*index] = i * 4 + w;
                    ring.push(*index);
                    ++i;
                } else {
                    std::this_thread::yield();
                }
            }
        });
    }
    std::array<std::uint32_t, 3> last{};
    std::uint32_t total = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (total < 3 * per_writer && std::chrono::steady_clock::now() < end) {
        const auto index = ring.pop();
        if (!index) {
            std::this_thread::yield();
            continue;
        }
        const std::uint32_t writer = contents[*index] % 4;
        ASSERT_LT(writer, 3U);
        EXPECT_EQ(contents[*index] / 4, last[writer] + 1);
        last[writer] = contents[*index] / 4;
        pool.give(*index);
        ++total;
    }
    EXPECT_EQ(total, 3 * per_writer);
    EXPECT_TRUE(ring.empty());
    for (std::thread& writer : writers)
        writer.join();
}

}  // namespace
}  // namespace sumwire::nic
