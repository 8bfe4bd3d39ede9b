#include "script.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace sumwire::aggregator::test {

Bytes words(const std::vector<std::uint32_t>& values) {
    Bytes bytes;
    for (const std::uint32_t value : values) {
        for (unsigned shift = 0; shift < 32; shift += 8)
            bytes.push_back(static_cast<std::byte>(value >> shift));
    }
    return bytes;
}

Bytes floats(const std::vector<float>& values) {
    std::vector<std::uint32_t> bits(values.size());
    std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
    return words(bits);
}

std::vector<std::uint32_t> to_words(std::span<const std::byte> payload) {
    std::vector<std::uint32_t> values(payload.size() / 4);
    for (std::size_t i = 0; i < values.size() * 4; ++i)
        values[i / 4] |= std::to_integer<std::uint32_t>(payload[i]) << (i % 4 * 8);
    return values;
}

Bytes datagram(const nic::Header& header, const Bytes& payload, bool sealed) {
    Bytes bytes(nic::header_bytes);
    const auto head = std::span(bytes).first<nic::header_bytes>();
    nic::write_header(header, head);
    if (sealed) nic::seal(head, payload);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
}

nic::Endpoint endpoint_of(unsigned rank, unsigned host) {
    return {.address = 0x0a000000U + (host << 16U) + rank,
            .port = static_cast<std::uint16_t>(40000 + rank)};
}

Script::Script(const Limits& limits, std::uint64_t seed)
    : random_(seed),
      aggregator_(
          limits, [this] { return random_(); },
          [this](const JobEvent& event) { events_.push_back(event); }) {}

std::vector<Answer> Script::send(const nic::Endpoint& from, const Bytes& bytes) {
    // Behind an odd byte, so that payloads are unaligned.
    Bytes unaligned(bytes.size() + 1);
    std::ranges::copy(bytes, unaligned.begin() + 1);
    aggregator_.receive(from, std::span<const std::byte>(unaligned).subspan(1), now_, outbox_);
    return take();
}

std::vector<Answer> Script::join(const nic::Endpoint& from, std::uint16_t rank,
                                 std::uint16_t world_size, const JoinOptions& options) {
    const nic::Join join{.nonce = options.nonce != 0 ? options.nonce : 1000U + rank,
                         .rank = rank,
                         .world_size = world_size,
                         .payload_bytes = options.payload_bytes,
                         .slots = options.slots,
                         .peer_timeout_ms = options.peer_timeout_ms,
                         .checksums = options.checksums,
                         .float_sums = options.float_sums,
                         .job = options.job};
    Bytes payload(
        std::max<std::size_t>(nic::Join::bytes, options.padded ? options.payload_bytes : 0));
    nic::write(join, payload);
    return send(from, datagram({.type = nic::PacketType::join, .rank = rank}, payload));
}

std::vector<Answer> Script::advance(Time by) {
    const Time end = now_ + by;
    std::vector<Answer> answers;
    while (aggregator_.next_deadline() <= end) {
        now_ = std::max(now_, aggregator_.next_deadline());
        aggregator_.expire(now_, outbox_);
        for (Answer& answer : take())
            answers.push_back(std::move(answer));
        EXPECT_GT(aggregator_.next_deadline(), now_) << "a deadline that expire does not move";
        if (aggregator_.next_deadline() <= now_) break;
    }
    now_ = end;
    return answers;
}

std::vector<Answer> Script::take() {
    std::vector<Answer> answers;
    for (const Outgoing& packet : outbox_.packets()) {
        Bytes bytes(packet.header.begin(), packet.header.end());
        bytes.insert(bytes.end(), packet.payload.begin(), packet.payload.end());
        const auto header = nic::read_header(bytes);
        EXPECT_TRUE(header.has_value());
        answers.push_back({.to = packet.to,
                           .header = header.value_or(nic::Header{}),
                           .payload = {packet.payload.begin(), packet.payload.end()},
                           .checksum = nic::check(bytes)});
    }
    outbox_.clear();
    return answers;
}

Job::Job(Script& script, std::uint16_t world_size, const JoinOptions& options, unsigned host)
    : script_(&script), world_size_(world_size), host_(host) {
    std::vector<Answer> answers;
    for (std::uint16_t rank = 0; rank < world_size; ++rank)
        answers = script.join(endpoint(rank), rank, world_size, options);
    EXPECT_EQ(answers.size(), world_size);
    for (std::uint16_t rank = 0; rank < answers.size(); ++rank) {
        EXPECT_EQ(answers[rank].header.type, nic::PacketType::welcome);
        EXPECT_EQ(answers[rank].to, endpoint(rank));
        EXPECT_EQ(answers[rank].header.rank, rank);
        const auto welcome = nic::read_welcome(answers[rank].payload);
        EXPECT_TRUE(welcome.has_value());
        welcome_ = welcome.value_or(nic::Welcome{});
        session_ = answers[rank].header.session;
    }
    EXPECT_NE(session_, 0U);
}

nic::Header Job::header(std::uint16_t rank, std::uint16_t slot, bool version,
                        std::uint32_t sequence, nic::Op op) const {
    return {.type = nic::PacketType::contribution,
            .op = op,
            .rank = rank,
            .session = session_,
            .sequence = sequence,
            .slot = slot,
            .slot_version = version};
}

std::vector<Answer> Job::contribute(const nic::Header& header, const Bytes& payload, bool sealed) {
    return script_->send(endpoint(header.rank), datagram(header, payload, sealed));
}

std::vector<Answer> Job::heartbeat(std::uint16_t rank) {
    const nic::Header header{.type = nic::PacketType::heartbeat, .rank = rank, .session = session_};
    return script_->send(endpoint(rank), datagram(header, {}));
}

std::vector<Answer> Job::leave(std::uint16_t rank) {
    const nic::Header header{.type = nic::PacketType::leave, .rank = rank, .session = session_};
    auto answers = script_->send(endpoint(rank), datagram(header, {}));
    const auto echoes = std::erase_if(answers, [&](const Answer& answer) {
        return answer.header.type == nic::PacketType::leave && answer.to == endpoint(rank) &&
               answer.header.session == session_ && answer.payload.empty();
    });
    EXPECT_EQ(echoes, 1U);
    return answers;
}

}  // namespace sumwire::aggregator::test
