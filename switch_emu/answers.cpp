#include "switch_emu/answers.h"

#include <algorithm>
#include <utility>

#include "nic/crc32c.h"

namespace sumwire::aggregator {
namespace {

// Ranks of one job have groups of their own, and of several jobs mostly too: a session's low bits
// are its place in the table.
std::uint16_t group_of(const nic::Header& header) {
    constexpr std::uint64_t between_sessions = 97;
    return static_cast<std::uint16_t>((header.rank + between_sessions * header.session) %
                                      answer_groups);
}

// Membership is rare, and a damaged notice would end a session: always sealed.
template <class Control>
void answer_control(Outbox& out, const nic::Endpoint& to, const nic::Header& header,
                    const Control& control, std::size_t control_bytes, std::size_t padded_bytes) {
    const std::span payload = out.control_payload(std::max(control_bytes, padded_bytes));
    nic::write(control, payload);
    answer_sealed(out, to, header, payload, nic::crc32c(payload));
}

template <class Control>
void answer_join(Outbox& out, const JoinRef& join, nic::PacketType type, std::uint64_t session,
                 const Control& control, std::size_t control_bytes) {
    answer_control(out, join.from, {.type = type, .rank = join.rank, .session = session}, control,
                   control_bytes, join.datagram_bytes - nic::header_bytes);
}

}  // namespace

Outgoing& answer(Outbox& out, const nic::Endpoint& to, const nic::Header& header,
                 std::span<const std::byte> payload) {
    Outgoing& packet = out.add();
    packet.to = to;
    packet.payload = payload;
    nic::write_header(header, packet.header);
    packet.group = group_of(header);
    return packet;
}

void answer_sealed(Outbox& out, const nic::Endpoint& to, const nic::Header& header,
                   std::span<const std::byte> payload, std::uint32_t payload_crc) {
    nic::seal(answer(out, to, header, payload).header, payload_crc);
}

void answer_pending(Outbox& out, const nic::Endpoint& to, const nic::Header& contribution,
                    const nic::Pending& pending, bool sealed) {
    nic::Header header = contribution;
    header.type = nic::PacketType::pending;
    const std::span payload = out.control_payload(nic::Pending::bytes);
    nic::write(pending, payload);
    if (sealed) {
        answer_sealed(out, to, header, payload, nic::crc32c(payload));
    } else {
        answer(out, to, header, payload);
    }
}

void answer_contradiction(Outbox& out, const nic::Endpoint& to, const nic::Header& contribution,
                          const nic::Contradiction& contradiction) {
    nic::Header header = contribution;
    header.type = nic::PacketType::contradiction;
    answer_control(out, to, header, contradiction, nic::Contradiction::bytes, 0);
}

void answer_echo(Outbox& out, const nic::Endpoint& to, const nic::Header& header) {
    answer_sealed(out, to, header, {}, nic::crc32c({}));
}

void answer_peer_lost(Outbox& out, const nic::Endpoint& to, std::uint16_t rank,
                      std::uint64_t session, const nic::PeerLostNotice& notice) {
    answer_control(out, to, {.type = nic::PacketType::peer_lost, .rank = rank, .session = session},
                   notice, nic::PeerLostNotice::bytes, 0);
}

void answer_closing(Outbox& out, const nic::Endpoint& to, std::uint16_t rank,
                    std::uint64_t session) {
    answer_echo(out, to, {.type = nic::PacketType::closing, .rank = rank, .session = session});
}

void answer_waiting(Outbox& out, const JoinRef& join, std::uint16_t joined,
                    std::uint16_t missing_rank) {
    const nic::Waiting waiting{.nonce = join.nonce,
                               .answered_bytes = join.datagram_bytes,
                               .joined = joined,
                               .missing_rank = missing_rank};
    answer_join(out, join, nic::PacketType::waiting, 0, waiting, nic::Waiting::bytes);
}

void answer_welcome(Outbox& out, const JoinRef& join, std::uint64_t session, nic::Welcome welcome) {
    welcome.nonce = join.nonce;
    welcome.answered_bytes = join.datagram_bytes;
    answer_join(out, join, nic::PacketType::welcome, session, welcome, nic::Welcome::bytes);
}

void answer_refused(Outbox& out, const JoinRef& join, nic::Refusal code, std::string text) {
    const nic::Refused refused{.nonce = join.nonce, .code = code, .text = std::move(text)};
    const std::size_t bytes =
        nic::Refused::head_bytes + std::min(refused.text.size(), nic::max_refusal_text);
    answer_join(out, join, nic::PacketType::refused, 0, refused, bytes);
}

}  // namespace sumwire::aggregator
