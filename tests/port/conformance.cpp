// What is sent, and what arrives.
#include "tests/port/conformance.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <vector>

#include "tests/port/exchange.h"

namespace sumwire::nic {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

void PortConformance::SetUp() {
    try {
        pair_ = GetParam().make();
    } catch (const Unavailable& reason) {
        GTEST_SKIP() << reason.what();
    }
}

std::size_t PortConformance::largest_payload() const {
    return std::min(pair_.a->info().max_datagram, pair_.b->info().max_datagram) - header_bytes;
}

Traffic PortConformance::a_to_b() {
    return {a(), b(), pair_.b_seen_from_a, pair_.a_seen_from_b, pair_.lossless};
}

Traffic PortConformance::b_to_a() {
    return {b(), a(), pair_.a_seen_from_b, pair_.b_seen_from_a, pair_.lossless};
}

TEST_P(PortConformance, InfoIsUsable) {
    for (const PacketPort* port : {&a(), &b()}) {
        EXPECT_GE(port->info().max_datagram, header_bytes + 64);
        EXPECT_LE(port->info().max_datagram, 65507U);
        EXPECT_NE(port->info().local.port, 0);
        EXPECT_FALSE(port->info().description.empty());
    }
}

TEST_P(PortConformance, EverySizeArrivesIntactBothWays) {
    std::vector<std::size_t> sizes{0,
                                   1,
                                   2,
                                   3,
                                   4,
                                   7,
                                   8,
                                   31,
                                   63,
                                   64,
                                   65,
                                   100,
                                   127,
                                   128,
                                   255,
                                   256,
                                   511,
                                   777,
                                   1000,
                                   1023,
                                   1024,
                                   1400,
                                   largest_payload() - 1,
                                   largest_payload()};
    std::erase_if(sizes, [&](std::size_t size) { return size > largest_payload(); });
    std::vector<Message> messages;
    for (const std::size_t size : sizes) {
        messages.push_back(make_message(static_cast<std::uint32_t>(messages.size()), size));
    }
    a_to_b().deliver(messages);
    b_to_a().deliver(messages);
}

// Sizes in random order: what the port groups by size or destination must stay apart.
TEST_P(PortConformance, RandomSizesArriveIntact) {
    std::mt19937 random(11);
    std::vector<Message> messages;
    for (std::uint32_t i = 0; i < 2000; ++i) {
        const std::size_t usual = 64 * (1 + random() % 3);
        const std::size_t odd = random() % (std::min<std::size_t>(1400, largest_payload()) + 1);
        messages.push_back(make_message(i, random() % 4 == 0 ? odd : usual));
    }
    a_to_b().deliver(messages);
}

TEST_P(PortConformance, BurstsLargerThanAnyQueueArrive) {
    a_to_b().deliver(make_messages(20000, 64));
    b_to_a().deliver(make_messages(5000, std::min<std::size_t>(1024, largest_payload())));
}

TEST_P(PortConformance, LargestDatagramsInBurstsArrive) {
    a_to_b().deliver(make_messages(300, largest_payload()));
}

TEST_P(PortConformance, TransmitTakesAPrefix) {
    a_to_b().deliver(make_messages(1, 0));
    const auto messages = make_messages(20000, 64);
    std::vector<TxPacket> packets;
    for (const Message& message : messages)
        packets.push_back(message.to(pair_.b_seen_from_a));

    // Nobody receives meanwhile. A port may be busy for a moment.
    std::size_t taken = 0;
    for (const auto begin = Clock::now(); taken == 0 && Clock::now() - begin < 1s;) {
        taken = a().transmit(packets);
    }
    ASSERT_LE(taken, packets.size());
    std::vector<bool> seen(taken, false);
    std::uint32_t next = 0;
    auto last = Clock::now();
    while (Clock::now() - last < 100ms) {
        std::array<RxPacket, 64> burst;
        const std::size_t count = b().receive(burst);
        for (const RxPacket& packet : std::span(burst).first(count)) {
            const std::uint32_t number = number_of(packet.datagram);
            ASSERT_LT(number, taken);
            ASSERT_TRUE(messages[number].equals(packet.datagram));
            ASSERT_FALSE(seen[number]) << "twice";
            seen[number] = true;
            if (pair_.lossless) {
                ASSERT_EQ(number, next);
            }
            ++next;
            last = Clock::now();
        }
        b().release(std::span(burst).first(count));
        discard(a());
    }
    EXPECT_GT(next, 0U);
    if (pair_.lossless) {
        EXPECT_EQ(next, taken);
    }
}

TEST_P(PortConformance, EmptyBurstsAreFine) {
    EXPECT_EQ(a().transmit({}), 0U);
    EXPECT_EQ(a().receive({}), 0U);
    a().release({});
    a_to_b().deliver(make_messages(3, 10));
}

TEST_P(PortConformance, ReplyGoesToFrom) {
    const Message question = make_message(0, 10);
    const Message answer = make_message(1, 20);
    const TxPacket out = question.to(pair_.b_seen_from_a);
    transmit_all(a(), {&out, 1});
    bool answered = false;
    auto last = Clock::now();
    EXPECT_TRUE(poll_until([&] {
        std::array<RxPacket, 8> burst;
        std::size_t count = b().receive(burst);
        for (const RxPacket& packet : std::span(burst).first(count)) {
            const TxPacket back = answer.to(packet.from);
            b().transmit({&back, 1});
        }
        b().release(std::span(burst).first(count));
        count = a().receive(burst);
        for (const RxPacket& packet : std::span(burst).first(count)) {
            EXPECT_TRUE(answer.equals(packet.datagram));
            EXPECT_EQ(packet.from, pair_.b_seen_from_a);
            answered = true;
        }
        a().release(std::span(burst).first(count));
        if (Clock::now() - last > 50ms) {
            a().transmit({&out, 1});
            last = Clock::now();
        }
        return answered;
    }));
}

TEST_P(PortConformance, TooLargeIsTakenAndDroppedNeverTruncated) {
    const std::size_t largest = a().info().max_datagram - header_bytes;
    auto messages = make_messages(3, 64);
    const Message giant = make_message(7, largest + 1);
    const Message monster = make_message(8, 100'000);
    a_to_b().deliver(messages);
    const std::array<TxPacket, 2> burst{giant.to(pair_.b_seen_from_a),
                                        monster.to(pair_.b_seen_from_a)};
    EXPECT_EQ(a().transmit(burst), 2U);
    // Any remainder of the two would be reported as a datagram out of place.
    a_to_b().deliver(messages);
}

TEST_P(PortConformance, TooLargeInTheMiddleOfABurstLeavesTheRestAlone) {
    a_to_b().deliver(make_messages(1, 0));
    auto messages = make_messages(40, 64);
    const Message giant = make_message(99, a().info().max_datagram - header_bytes + 1);
    std::vector<TxPacket> packets;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (i % 7 == 3) packets.push_back(giant.to(pair_.b_seen_from_a));
        packets.push_back(messages[i].to(pair_.b_seen_from_a));
    }
    transmit_all(a(), packets);
    const auto received = collect(b(), messages.size(), [&] { transmit_all(a(), packets); });
    for (const RxPacket& packet : received) {
        const std::uint32_t number = number_of(packet.datagram);
        ASSERT_LT(number, messages.size());
        EXPECT_TRUE(messages[number].equals(packet.datagram));
    }
    b().release(received);
}

TEST_P(PortConformance, UnreachableDestinationsAreDropped) {
    Endpoint nobody = pair_.b_seen_from_a;
    nobody.port = static_cast<std::uint16_t>(nobody.port == 65535 ? 1024 : nobody.port + 1);
    const auto messages = make_messages(50, 64);
    std::vector<TxPacket> packets;
    for (const Message& message : messages)
        packets.push_back(message.to(nobody));
    for (int i = 0; i < 10; ++i)
        transmit_all(a(), packets);
    a_to_b().deliver(make_messages(100, 64));
}

TEST_P(PortConformance, GarbageDoesNotDisturb) {
    a_to_b().deliver(make_messages(1, 0));
    std::mt19937 random(13);
    const auto messages = make_messages(500, 128);
    std::vector<std::vector<std::byte>> garbage;
    std::vector<TxPacket> packets;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        auto& bytes =
            garbage.emplace_back(random() % (std::min<std::size_t>(1400, largest_payload())));
        if (i % 50 == 0) bytes.clear();
        for (std::byte& b : bytes)
            b = static_cast<std::byte>(random());
        if (!bytes.empty()) bytes[0] = std::byte{0xff};  // no version of ours
        TxPacket packet;
        packet.to = pair_.b_seen_from_a;
        packet.header = std::span(bytes).first(std::min(bytes.size(), header_bytes));
        packet.payload = std::span(bytes).subspan(packet.header.size());
        packets.push_back(packet);
        packets.push_back(messages[i].to(pair_.b_seen_from_a));
    }
    // Few at a time, so that small buffers do not keep the garbage from the receiver.
    constexpr std::size_t slice = 32;
    std::size_t sent = 0;
    std::vector<bool> arrived(messages.size(), false);
    std::size_t arrivals = 0;
    auto last = Clock::now();
    EXPECT_TRUE(poll_until([&] {
        const auto rest = std::span<const TxPacket>(packets).subspan(sent);
        sent += a().transmit(rest.first(std::min(slice, rest.size())));
        std::array<RxPacket, 64> burst;
        const std::size_t count = b().receive(burst);
        for (const RxPacket& packet : std::span(burst).first(count)) {
            last = Clock::now();
            if (!read_header(packet.datagram)) continue;
            const std::uint32_t number = number_of(packet.datagram);
            EXPECT_TRUE(number < messages.size() && messages[number].equals(packet.datagram));
            if (number < messages.size() && !arrived[number]) {
                arrived[number] = true;
                ++arrivals;
            }
        }
        b().release(std::span(burst).first(count));
        if (sent == packets.size() && Clock::now() - last > 50ms) {
            packets.clear();
            for (std::size_t i = 0; i < messages.size(); ++i) {
                if (!arrived[i]) packets.push_back(messages[i].to(pair_.b_seen_from_a));
            }
            sent = 0;
            last = Clock::now();
        }
        return sent == packets.size() && arrivals == messages.size();
    }));
}

}  // namespace sumwire::nic
