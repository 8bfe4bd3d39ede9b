#include "tests/port/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace sumwire::nic {
namespace {

constexpr std::chrono::milliseconds resend_after{50};
constexpr std::size_t receive_burst = 64;

}  // namespace

bool Message::equals(std::span<const std::byte> datagram) const {
    return datagram.size() == size() &&
           std::equal(header.begin(), header.end(), datagram.begin()) &&
           std::ranges::equal(payload, datagram.subspan(header.size()));
}

TxPacket Message::to(const Endpoint& endpoint) const {
    TxPacket packet;
    packet.to = endpoint;
    packet.header = header;
    packet.payload = payload;
    return packet;
}

Message make_message(std::uint32_t number, std::size_t payload_bytes) {
    std::mt19937 random(number * 7919U + static_cast<std::uint32_t>(payload_bytes));
    Message message;
    Header header;
    header.type = PacketType::contribution;
    header.op = Op::add_i32;
    header.session = random();
    header.sequence = number;
    write_header(header, message.header);
    message.payload.resize(payload_bytes);
    for (std::byte& b : message.payload)
        b = static_cast<std::byte>(random());
    return message;
}

std::vector<Message> make_messages(std::size_t count, std::size_t payload_bytes) {
    std::vector<Message> messages;
    for (std::size_t i = 0; i < count; ++i) {
        messages.push_back(make_message(static_cast<std::uint32_t>(i), payload_bytes));
    }
    return messages;
}

std::uint32_t number_of(std::span<const std::byte> datagram) {
    const auto header = read_header(datagram);
    return header ? header->sequence : UINT32_MAX;
}

Traffic::Traffic(PacketPort& from, PacketPort& to, const Endpoint& destination,
                 const Endpoint& source, bool lossless)
    : from_(from), to_(to), destination_(destination), source_(source), lossless_(lossless) {}

void Traffic::deliver(const std::vector<Message>& messages) {
    outgoing_.clear();
    for (const Message& message : messages)
        outgoing_.push_back(message.to(destination_));
    next_ = 0;
    arrived_.assign(messages.size(), false);
    arrivals_ = 0;

    using Clock = std::chrono::steady_clock;
    auto last_progress = Clock::now();
    const auto end = last_progress + patience;
    while (arrivals_ < messages.size()) {
        transmit_some();
        if (receive_some(messages)) {
            last_progress = Clock::now();
        } else {
            to_.wait(std::chrono::microseconds(100));
        }
        poll_sender();
        const auto now = Clock::now();
        if (!lossless_ && next_ == outgoing_.size() && now - last_progress > resend_after) {
            outgoing_.clear();
            for (std::size_t i = 0; i < messages.size(); ++i) {
                if (!arrived_[i]) outgoing_.push_back(messages[i].to(destination_));
            }
            next_ = 0;
            last_progress = now;
        }
        if (now > end || ::testing::Test::HasFailure()) break;
    }
    EXPECT_EQ(arrivals_, messages.size()) << "messages that arrived";
}

void Traffic::transmit_some() {
    const auto rest = std::span<const TxPacket>(outgoing_).subspan(next_);
    if (rest.empty()) return;
    const std::size_t taken = from_.transmit(rest);
    ASSERT_LE(taken, rest.size());
    for (const TxPacket& packet : rest.first(taken)) {
        taken_bytes_ += packet.header.size() + packet.payload.size();
    }
    taken_ += taken;
    refused_ += rest.size() - taken;
    next_ += taken;
}

bool Traffic::receive_some(const std::vector<Message>& messages) {
    std::array<RxPacket, receive_burst> burst;
    const std::size_t count = to_.receive(burst);
    EXPECT_LE(count, burst.size());
    const auto packets = std::span(burst).first(std::min(count, burst.size()));
    for (const RxPacket& packet : packets)
        accept(packet, messages);
    to_.release(packets);
    return count > 0;
}

void Traffic::accept(const RxPacket& packet, const std::vector<Message>& messages) {
    ++received_;
    received_bytes_ += packet.datagram.size();
    EXPECT_EQ(packet.from, source_) << to_string(packet.from) << " is not " << to_string(source_);
    const std::uint32_t number = number_of(packet.datagram);
    ASSERT_LT(number, messages.size()) << "a datagram of " << packet.datagram.size() << " bytes";
    ASSERT_TRUE(messages[number].equals(packet.datagram)) << "message " << number;
    if (lossless_) {
        ASSERT_EQ(number, arrivals_) << "out of order";
    }
    if (arrived_[number]) return;
    arrived_[number] = true;
    ++arrivals_;
}

void Traffic::poll_sender() {
    std::array<RxPacket, receive_burst> burst;
    const std::size_t count = from_.receive(burst);
    from_.release(std::span(burst).first(count));
}

}  // namespace sumwire::nic
