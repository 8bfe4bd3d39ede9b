// Writes the aggregator's datagrams into an outbox.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "nic/control.h"
#include "nic/endpoint.h"
#include "nic/wire.h"
#include "switch_emu/outbox.h"

namespace sumwire::aggregator {

// A datagram with this payload, which is not copied; without checksum.
Outgoing& answer(Outbox& out, const nic::Endpoint& to, const nic::Header& header,
                 std::span<const std::byte> payload);
// With one, made from crc32c(payload).
void answer_sealed(Outbox& out, const nic::Endpoint& to, const nic::Header& header,
                   std::span<const std::byte> payload, std::uint32_t payload_crc);

// `pending` for the use that `contribution` belongs to.
void answer_pending(Outbox& out, const nic::Endpoint& to, const nic::Header& contribution,
                    const nic::Pending& pending, bool sealed);

// For the use that `contribution`, the addressee's, belongs to.
void answer_contradiction(Outbox& out, const nic::Endpoint& to, const nic::Header& contribution,
                          const nic::Contradiction& contradiction);

// Heartbeats and farewells are answered by the same packet.
void answer_echo(Outbox& out, const nic::Endpoint& to, const nic::Header& header);

void answer_closing(Outbox& out, const nic::Endpoint& to, std::uint16_t rank,
                    std::uint64_t session);
void answer_peer_lost(Outbox& out, const nic::Endpoint& to, std::uint16_t rank,
                      std::uint64_t session, const nic::PeerLostNotice& notice);

// The join that an answer is for.
struct JoinRef {
    nic::Endpoint from;
    std::uint16_t rank = 0;
    std::uint64_t nonce = 0;
    std::uint16_t datagram_bytes = 0;  // header and padding included; answers get the same length
};

void answer_waiting(Outbox& out, const JoinRef& join, std::uint16_t joined,
                    std::uint16_t missing_rank);
// Fills in nonce and answered_bytes.
void answer_welcome(Outbox& out, const JoinRef& join, std::uint64_t session, nic::Welcome welcome);
void answer_refused(Outbox& out, const JoinRef& join, nic::Refusal code, std::string text);

}  // namespace sumwire::aggregator
