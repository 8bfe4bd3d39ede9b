// Buffers, memory, counters, waiting, threads.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include "tests/port/conformance.h"
#include "tests/port/exchange.h"

namespace sumwire::nic {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

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
