#include "tests/port/conformance.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <random>
#include <thread>

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

namespace {

// Receives exactly that many packets and keeps them; `resend` is called when nothing comes.
template <class Resend>
std::vector<RxPacket> collect(PacketPort& port, std::size_t count, Resend resend) {
    std::vector<RxPacket> packets(count);
    std::size_t have = 0;
    auto last = Clock::now();
    EXPECT_TRUE(poll_until([&] {
        const std::size_t more = port.receive(std::span(packets).subspan(have));
        have += more;
        if (more > 0) {
            last = Clock::now();
        } else {
            port.wait(100us);
        }
        if (have < count && Clock::now() - last > 50ms) {
            resend();
            last = Clock::now();
        }
        return have == count;
    }));
    packets.resize(have);
    return packets;
}

void transmit_all(PacketPort& port, std::span<const TxPacket> packets) {
    std::size_t taken = 0;
    EXPECT_TRUE(poll_until([&] {
        taken += port.transmit(packets.subspan(taken));
        return taken == packets.size();
    }));
}

std::size_t discard(PacketPort& port) {
    std::array<RxPacket, 64> burst;
    const std::size_t count = port.receive(burst);
    port.release(std::span(burst).first(count));
    return count;
}

}  // namespace

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

    // Nobody receives meanwhile.
    const std::size_t taken = a().transmit(packets);
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

TEST_P(PortConformance, CopiedPayloadIsTheCallersAgain) {
    a_to_b().deliver(make_messages(1, 0));
    const Message original = make_message(0, 256);
    std::vector<RxPacket> received;
    const auto send_and_overwrite = [&] {
        Message scratch = original;
        const TxPacket packet = scratch.to(pair_.b_seen_from_a);
        transmit_all(a(), {&packet, 1});
        scratch.header.fill(std::byte{0xdd});
        std::ranges::fill(scratch.payload, std::byte{0xdd});
    };
    for (int i = 0; i < 20; ++i)
        send_and_overwrite();
    received = collect(b(), 20, send_and_overwrite);
    for (const RxPacket& packet : received)
        EXPECT_TRUE(original.equals(packet.datagram));
    b().release(received);
}

TEST_P(PortConformance, BuffersMayBeHeldAndReleasedInAnyOrder) {
    constexpr std::size_t held = 64;
    a_to_b().deliver(make_messages(1, 0));
    std::mt19937 random(12);
    for (int round = 0; round < 100; ++round) {
        const auto messages = make_messages(2 * held, 200);
        std::vector<TxPacket> packets;
        for (const Message& message : messages)
            packets.push_back(message.to(pair_.b_seen_from_a));
        const auto half = [&](std::size_t i) { return std::span(packets).subspan(i * held, held); };
        const auto intact = [&](const RxPacket& packet) {
            const std::uint32_t number = number_of(packet.datagram);
            return number < messages.size() && messages[number].equals(packet.datagram);
        };
        transmit_all(a(), half(0));
        auto first = collect(b(), held, [&] { transmit_all(a(), half(0)); });
        transmit_all(a(), half(1));
        auto second = collect(b(), held, [&] { transmit_all(a(), half(1)); });
        ASSERT_FALSE(HasFailure());

        // The receiver may write, and nobody else's packet changes.
        for (const RxPacket& packet : second) {
            ASSERT_TRUE(intact(packet));
            std::ranges::fill(packet.datagram, std::byte{0xcc});
        }
        for (const RxPacket& packet : first)
            ASSERT_TRUE(intact(packet));

        first.insert(first.end(), second.begin(), second.end());
        std::ranges::shuffle(first, random);
        std::span<const RxPacket> rest = first;
        while (!rest.empty()) {
            const std::size_t some = std::min<std::size_t>(rest.size(), 1 + random() % 20);
            b().release(rest.first(some));
            rest = rest.subspan(some);
        }
    }
    a_to_b().deliver(make_messages(1000, 64));
}

TEST_P(PortConformance, CountersCount) {
    a_to_b().deliver(make_messages(1, 0));
    while (discard(b()) > 0) {
    }
    const PortCounters a_before = a().counters();
    const PortCounters b_before = b().counters();
    Traffic traffic = a_to_b();
    traffic.deliver(make_messages(3000, 100));
    const PortCounters a_after = a().counters();
    const PortCounters b_after = b().counters();
    EXPECT_EQ(a_after.tx_packets - a_before.tx_packets, traffic.taken());
    EXPECT_EQ(a_after.tx_bytes - a_before.tx_bytes,
              traffic.taken_bytes() + traffic.taken() * network_header_bytes);
    EXPECT_EQ(a_after.tx_would_block - a_before.tx_would_block, traffic.refused());
    EXPECT_EQ(b_after.rx_packets - b_before.rx_packets, traffic.received());
    EXPECT_EQ(b_after.rx_bytes - b_before.rx_bytes,
              traffic.received_bytes() + traffic.received() * network_header_bytes);
    EXPECT_EQ(b_after.rx_malformed, b_before.rx_malformed);
}

TEST_P(PortConformance, WaitEndsWithTheTimeout) {
    for (const auto timeout : {0us, 1us, 500us, 3000us}) {
        const auto start = Clock::now();
        a().wait(timeout);
        EXPECT_LT(Clock::now() - start, 10s);
    }
}

TEST_P(PortConformance, WaitEndsEarlyWhenAPacketComes) {
    a_to_b().deliver(make_messages(1, 0));
    std::atomic<bool> received = false;
    std::thread sender([&] {
        const Message message = make_message(0, 64);
        const TxPacket packet = message.to(pair_.b_seen_from_a);
        while (!received) {
            a().transmit({&packet, 1});
            a().wait(2000us);
            discard(a());
        }
    });
    const auto start = Clock::now();
    // Each wait alone is longer than the test allows for all of them.
    for (int i = 0; i < 100; ++i) {
        while (discard(b()) == 0)
            b().wait(60s);
    }
    EXPECT_LT(Clock::now() - start, patience);
    received = true;
    sender.join();
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
    transmit_all(a(), packets);
    std::vector<bool> arrived(messages.size(), false);
    std::size_t arrivals = 0;
    auto last = Clock::now();
    EXPECT_TRUE(poll_until([&] {
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
        if (Clock::now() - last > 50ms) {
            transmit_all(a(), packets);
            last = Clock::now();
        }
        return arrivals == messages.size();
    }));
}

TEST_P(PortConformance, PortsOnTwoThreadsEcho) {
    a_to_b().deliver(make_messages(1, 0));
    std::atomic<bool> done = false;
    std::thread echo([&] {
        std::array<RxPacket, 32> burst;
        std::deque<std::vector<std::byte>> waiting;
        while (!done) {
            const std::size_t count = b().receive(burst);
            for (const RxPacket& packet : std::span(burst).first(count)) {
                waiting.emplace_back(packet.datagram.begin(), packet.datagram.end());
            }
            b().release(std::span(burst).first(count));
            while (!waiting.empty()) {
                TxPacket packet;
                packet.to = pair_.a_seen_from_b;
                packet.header = waiting.front();
                if (b().transmit({&packet, 1}) == 0) break;
                waiting.pop_front();
            }
            if (count == 0) b().wait(500us);
        }
    });

    const auto messages = make_messages(3000, 300);
    std::vector<bool> back(messages.size(), false);
    std::size_t returned = 0;
    constexpr std::size_t window = 64;
    auto last = Clock::now();
    std::size_t next = 0;
    EXPECT_TRUE(poll_until([&] {
        if (next < messages.size() && next < returned + window) {
            const TxPacket packet = messages[next].to(pair_.b_seen_from_a);
            next += a().transmit({&packet, 1});
        }
        std::array<RxPacket, 32> burst;
        const std::size_t count = a().receive(burst);
        for (const RxPacket& packet : std::span(burst).first(count)) {
            const std::uint32_t number = number_of(packet.datagram);
            EXPECT_TRUE(number < messages.size() && messages[number].equals(packet.datagram));
            if (number >= messages.size() || back[number]) continue;
            back[number] = true;
            ++returned;
            last = Clock::now();
        }
        a().release(std::span(burst).first(count));
        if (count == 0) a().wait(200us);
        if (Clock::now() - last > 50ms) {
            for (std::size_t i = 0; i < next; ++i) {
                if (back[i]) continue;
                const TxPacket packet = messages[i].to(pair_.b_seen_from_a);
                a().transmit({&packet, 1});
            }
            last = Clock::now();
        }
        return returned == messages.size();
    }));
    done = true;
    echo.join();
}

TEST_P(PortConformance, BorrowedMemoryComesBack) {
    std::vector<std::byte> memory(1 << 20);
    auto region = a().register_memory(memory);
    if (!region) GTEST_SKIP() << "this port copies";
    a_to_b().deliver(make_messages(1, 0));
    EXPECT_EQ(region->in_flight(), 0U);

    std::mt19937 random(14);
    for (std::byte& b : memory)
        b = static_cast<std::byte>(random());
    const std::size_t size = std::min<std::size_t>(1024, largest_payload());
    const auto headers = make_messages(memory.size() / size, 0);
    std::vector<TxPacket> packets;
    for (std::size_t i = 0; i < headers.size(); ++i) {
        TxPacket packet = headers[i].to(pair_.b_seen_from_a);
        packet.payload = std::span(memory).subspan(i * size, size);
        packet.region = region.get();
        packets.push_back(packet);
    }
    std::vector<bool> arrived(packets.size(), false);
    std::size_t arrivals = 0;
    std::size_t next = 0;
    auto last = Clock::now();
    EXPECT_TRUE(poll_until([&] {
        next += a().transmit(std::span<const TxPacket>(packets).subspan(next));
        std::array<RxPacket, 32> burst;
        const std::size_t count = b().receive(burst);
        for (const RxPacket& packet : std::span(burst).first(count)) {
            const std::uint32_t number = number_of(packet.datagram);
            EXPECT_LT(number, packets.size());
            if (number >= packets.size()) continue;
            EXPECT_TRUE(
                std::ranges::equal(packet.datagram.subspan(header_bytes), packets[number].payload));
            if (arrived[number]) continue;
            arrived[number] = true;
            ++arrivals;
            last = Clock::now();
        }
        b().release(std::span(burst).first(count));
        discard(a());
        if (next == packets.size() && Clock::now() - last > 50ms) {
            next = 0;
            last = Clock::now();
        }
        return arrivals == packets.size() && next == packets.size();
    }));
    // Whatever the port holds back for completion is found by its own calls.
    EXPECT_TRUE(poll_until([&] {
        discard(a());
        discard(b());
        a().transmit({});
        return region->in_flight() == 0;
    })) << region->in_flight();

    // Destruction with packets on their way, while the receiver goes on.
    std::atomic<bool> done = false;
    std::thread receiver([&] {
        while (!done) {
            if (discard(b()) == 0) b().wait(100us);
        }
    });
    a().transmit(
        std::span<const TxPacket>(packets).first(std::min<std::size_t>(64, packets.size())));
    region.reset();
    std::ranges::fill(memory, std::byte{0});
    memory.clear();
    memory.shrink_to_fit();
    done = true;
    receiver.join();
    while (discard(b()) > 0) {
    }
    a_to_b().deliver(make_messages(500, 64));
}

}  // namespace sumwire::nic
