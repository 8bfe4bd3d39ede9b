#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "nic/fault/fault_port.h"
#include "nic/inproc/inproc_port.h"
#include "tests/port/traffic.h"

namespace sumwire::nic {
namespace {

constexpr std::size_t payload_bytes = 40;

// A faulty sender and a sound receiver, or the other way round.
class Link {
  public:
    explicit Link(const FaultOptions& options) {
        static int count = 0;
        const std::string network = "faults" + std::to_string(count++);
        auto sender = std::make_unique<InprocPort>(InprocPortOptions{network, {}, 0, 1500});
        auto receiver = std::make_unique<InprocPort>(InprocPortOptions{network, {}, 0, 1500});
        to_ = receiver->info().local;
        if (options.on_transmit) {
            sender_ = std::make_unique<FaultPort>(std::move(sender), options);
            receiver_ = std::move(receiver);
        } else {
            sender_ = std::move(sender);
            receiver_ = std::make_unique<FaultPort>(std::move(receiver), options);
        }
    }

    PacketPort& sender() { return *sender_; }
    PacketPort& receiver() { return *receiver_; }
    const Endpoint& to() const { return to_; }

    // The datagrams in the order in which they come.
    std::vector<std::vector<std::byte>> carry(std::size_t count) {
        std::vector<std::vector<std::byte>> arrived;
        const auto messages = make_messages(count, payload_bytes);
        for (std::size_t i = 0; i < count;) {
            std::array<TxPacket, 16> burst;
            const std::size_t length = std::min(burst.size(), count - i);
            for (std::size_t k = 0; k < length; ++k)
                burst[k] = messages[i + k].to(to_);
            i += sender_->transmit(std::span(burst).first(length));
            receive(arrived);
        }
        drain(arrived);
        return arrived;
    }

    // What is still held back needs time, but no traffic.
    void drain(std::vector<std::vector<std::byte>>& arrived) {
        using Clock = std::chrono::steady_clock;
        auto last = Clock::now();
        for (bool over = false; !over;) {
            over = Clock::now() - last > std::chrono::milliseconds(100);
            sender_->wait(std::chrono::milliseconds(1));
            receiver_->wait(std::chrono::milliseconds(1));
            if (receive(arrived) > 0) {
                last = Clock::now();
                over = false;
            }
        }
    }

    // As many bursts of 16 as there are, at most `most`.
    std::size_t receive(std::vector<std::vector<std::byte>>& arrived, std::size_t most = SIZE_MAX) {
        std::array<RxPacket, 16> burst;
        std::size_t bursts = 0;
        while (bursts < most) {
            const std::size_t count = receiver_->receive(burst);
            if (count == 0) break;
            for (const RxPacket& packet : std::span(burst).first(count)) {
                arrived.emplace_back(packet.datagram.begin(), packet.datagram.end());
            }
            receiver_->release(std::span(burst).first(count));
            ++bursts;
        }
        return bursts;
    }

  private:
    std::unique_ptr<PacketPort> sender_;
    std::unique_ptr<PacketPort> receiver_;
    Endpoint to_;
};

class FaultPortDirection : public ::testing::TestWithParam<bool> {
  protected:
    static FaultOptions options() {
        FaultOptions options;
        options.on_transmit = GetParam();
        options.on_receive = !GetParam();
        options.patience = std::chrono::milliseconds(20);
        return options;
    }
};

// Five standard deviations of a binomial distribution.
void expect_fraction(std::size_t count, std::size_t of, double probability) {
    const auto n = static_cast<double>(of);
    const double deviation = std::sqrt(n * probability * (1 - probability));
    EXPECT_NEAR(static_cast<double>(count), n * probability, 5 * deviation + 1);
}

std::size_t count_bits_changed(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
    std::size_t bits = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        bits += static_cast<std::size_t>(std::popcount(static_cast<std::uint8_t>(a[i] ^ b[i])));
    }
    return bits;
}

std::vector<std::byte> bytes_of(const Message& message) {
    std::vector<std::byte> bytes(message.header.begin(), message.header.end());
    bytes.insert(bytes.end(), message.payload.begin(), message.payload.end());
    return bytes;
}

constexpr std::size_t many = 20000;

TEST_P(FaultPortDirection, LosesTheFractionAskedFor) {
    FaultOptions faults = options();
    faults.loss = 0.1;
    const auto arrived = Link(faults).carry(many);
    expect_fraction(many - arrived.size(), many, 0.1);
    std::uint32_t last = 0;
    for (const auto& datagram : arrived) {
        EXPECT_GE(number_of(datagram), last);
        last = number_of(datagram);
    }
}

TEST_P(FaultPortDirection, LosesEverythingAtProbabilityOne) {
    FaultOptions faults = options();
    faults.loss = 1;
    EXPECT_TRUE(Link(faults).carry(500).empty());
}

TEST_P(FaultPortDirection, DuplicatesTheFractionAskedForAndLosesNothing) {
    FaultOptions faults = options();
    faults.duplicate = 0.1;
    const auto arrived = Link(faults).carry(many);
    std::map<std::uint32_t, std::size_t> copies;
    for (const auto& datagram : arrived) {
        ASSERT_EQ(datagram, bytes_of(make_message(number_of(datagram), payload_bytes)));
        ++copies[number_of(datagram)];
    }
    EXPECT_EQ(copies.size(), many);
    for (const auto& [number, count] : copies)
        EXPECT_LE(count, 2U);
    expect_fraction(arrived.size() - many, many, 0.1);
}

TEST_P(FaultPortDirection, ReordersByFewPositionsAndLosesNothing) {
    FaultOptions faults = options();
    faults.reorder = 0.05;
    const auto arrived = Link(faults).carry(many);
    ASSERT_EQ(arrived.size(), many);
    std::vector<bool> seen(many, false);
    std::size_t late = 0;
    std::uint32_t highest = 0;
    for (const auto& datagram : arrived) {
        const std::uint32_t number = number_of(datagram);
        ASSERT_LT(number, many);
        EXPECT_FALSE(seen[number]);
        seen[number] = true;
        if (number < highest) {
            ++late;
            EXPECT_LE(highest - number, 2 * FaultOptions::max_displacement);
        }
        highest = std::max(highest, number);
    }
    // A packet held back is not late if all that should pass it are held back longer.
    EXPECT_GT(late, many * 4 / 100);
    EXPECT_LT(late, many * 6 / 100);
}

TEST_P(FaultPortDirection, CorruptsOneToThreeBitsAnywhere) {
    FaultOptions faults = options();
    faults.corrupt = 0.1;
    const auto arrived = Link(faults).carry(many);
    ASSERT_EQ(arrived.size(), many);
    std::size_t damaged = 0;
    std::size_t in_header = 0;
    std::array<std::size_t, 4> by_bits{};
    for (std::size_t i = 0; i < many; ++i) {
        const auto sent = bytes_of(make_message(static_cast<std::uint32_t>(i), payload_bytes));
        const auto& got = arrived[i];
        ASSERT_EQ(got.size(), sent.size());
        const std::size_t bits = count_bits_changed(sent, got);
        ASSERT_LE(bits, 3U);
        ++by_bits[bits];
        if (bits > 0) ++damaged;
        if (!std::equal(sent.begin(), sent.begin() + header_bytes, got.begin())) ++in_header;
    }
    expect_fraction(damaged, many, 0.1);
    for (std::size_t bits = 1; bits <= 3; ++bits)
        EXPECT_GT(by_bits[bits], damaged / 4);
    EXPECT_GT(in_header, damaged / 4);
    EXPECT_LT(in_header, damaged);
}

TEST_P(FaultPortDirection, TheSeedDecides) {
    FaultOptions faults = options();
    faults.loss = 0.1;
    faults.duplicate = 0.1;
    faults.reorder = 0.1;
    faults.corrupt = 0.1;
    // So long that only the positions decide; the last few stay held back in both runs.
    faults.patience = std::chrono::seconds(60);
    faults.seed = 7;
    const auto first = Link(faults).carry(3000);
    const auto again = Link(faults).carry(3000);
    EXPECT_TRUE(first == again);
    faults.seed = 8;
    EXPECT_FALSE(first == Link(faults).carry(3000));
}

TEST_P(FaultPortDirection, WhatIsHeldBackComesWithoutFurtherTraffic) {
    FaultOptions faults = options();
    faults.reorder = 1;
    faults.patience = std::chrono::milliseconds(2);
    Link link(faults);
    const Message message = make_message(0, payload_bytes);
    const TxPacket packet = message.to(link.to());
    ASSERT_EQ(link.sender().transmit({&packet, 1}), 1U);
    RxPacket received;
    EXPECT_TRUE(poll_until([&] {
        link.sender().wait(std::chrono::milliseconds(10));
        link.receiver().wait(std::chrono::milliseconds(10));
        return link.receiver().receive({&received, 1}) == 1;
    }));
    EXPECT_TRUE(message.equals(received.datagram));
    link.receiver().release({&received, 1});
}

// More than the port can hold back: the surplus passes.
TEST_P(FaultPortDirection, HoldingEverythingBackLosesNothing) {
    FaultOptions faults = options();
    faults.reorder = 1;
    faults.duplicate = 1;
    const auto arrived = Link(faults).carry(5000);
    std::vector<std::size_t> copies(5000, 0);
    for (const auto& datagram : arrived)
        ++copies[number_of(datagram)];
    EXPECT_EQ(std::ranges::count(copies, 0U), 0);
}

TEST_P(FaultPortDirection, DestructionWithPacketsHeldIsClean) {
    FaultOptions faults = options();
    faults.reorder = 0.5;
    faults.duplicate = 0.5;
    faults.patience = std::chrono::seconds(10);
    Link link(faults);
    const auto messages = make_messages(40, payload_bytes);
    for (const Message& message : messages) {
        const TxPacket packet = message.to(link.to());
        link.sender().transmit({&packet, 1});
    }
    std::array<RxPacket, 8> burst;
    link.receiver().release(std::span(burst).first(link.receiver().receive(burst)));
}

INSTANTIATE_TEST_SUITE_P(FaultPort, FaultPortDirection, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "transmit" : "receive"; });

TEST(FaultPort, SaysWhetherTheNetworkStillDetectsCorruption) {
    FaultOptions faults;
    faults.loss = 0.5;
    EXPECT_TRUE(Link(faults).sender().info().detects_corruption);
    faults.corrupt = 0.001;
    EXPECT_FALSE(Link(faults).sender().info().detects_corruption);
}

TEST(FaultPort, FaultsOfBothDirectionsDiffer) {
    FaultOptions options;
    options.loss = 0.5;
    const FaultPlan transmit(options, Direction::transmit);
    const FaultPlan receive(options, Direction::receive);
    std::size_t equal = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        if (transmit.fate(i).lost == receive.fate(i).lost) ++equal;
    }
    expect_fraction(equal, 1000, 0.5);
}

// The inner port refuses in the middle of a burst, again and again: what is decided stays decided.
TEST(FaultPort, BackPressureDoesNotChangeTheFaults) {
    FaultOptions faults;
    faults.on_receive = false;
    faults.loss = 0.2;
    faults.duplicate = 0.2;
    Link link(faults);
    const auto messages = make_messages(10000, payload_bytes);
    std::vector<TxPacket> packets;
    for (const Message& message : messages)
        packets.push_back(message.to(link.to()));
    std::vector<std::vector<std::byte>> arrived;
    std::size_t taken = 0;
    std::size_t refusals = 0;
    EXPECT_TRUE(poll_until([&] {
        taken += link.sender().transmit(std::span<const TxPacket>(packets).subspan(taken));
        if (taken < packets.size()) ++refusals;
        link.receive(arrived, 3);
        return taken == packets.size();
    }));
    link.drain(arrived);
    std::vector<std::size_t> copies(messages.size(), 0);
    for (const auto& datagram : arrived)
        ++copies[number_of(datagram)];
    EXPECT_EQ(taken, packets.size());
    EXPECT_GT(refusals, 0U);
    const FaultPlan plan(faults, Direction::transmit);
    std::size_t untouched = 0;
    for (std::size_t i = 0; i < copies.size(); ++i) {
        const Fate fate = plan.fate(i);
        if (fate.lost) {
            EXPECT_EQ(copies[i], 0U) << i;
        } else if (fate.duplicated) {
            // Passes untouched where nothing more can be held back.
            EXPECT_GE(copies[i], 1U) << i;
            if (copies[i] == 1) ++untouched;
        } else {
            EXPECT_EQ(copies[i], 1U) << i;
        }
    }
    EXPECT_LT(untouched, copies.size() / 10);
}

}  // namespace
}  // namespace sumwire::nic
