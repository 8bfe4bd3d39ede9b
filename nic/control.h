// Payloads of the control packets (wire.h), big endian, fixed layout, one struct each.
//
// A join is padded with zeros: to the payload the worker hopes for on even attempts, not at all on
// odd ones. The aggregator pads its answer to the same length and says in `answered_bytes` which
// datagram it answers. So a path that drops large datagrams is told apart from an absent
// aggregator, and the session never starts with a payload that cannot travel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nic/wire.h"

namespace sumwire::nic {

inline constexpr std::size_t max_job_name = 63;
inline constexpr std::size_t max_refusal_text = 255;

// The runtime spreads its lanes over at least so many.
inline constexpr std::uint16_t min_slots = 8;

// Silence for a shorter time says nothing: a few lost heartbeats or a busy scheduler are enough.
inline constexpr std::uint32_t min_peer_timeout_ms = 500;

// Bytes 0-7 nonce | 8-9 rank | 10-11 world size | 12-13 payload bytes | 14-15 slots |
// 16-19 peer timeout in ms | 20 options (bit 0: checksums, bit 1: float sums) | 21-23 zero |
// 24-87 job name, NUL-padded, never empty, at most 63 bytes.
struct Join {
    std::uint64_t nonce = 0;  // random, one per Communicator: tells a retransmission from a rival
    std::uint16_t rank = 0;
    std::uint16_t world_size = 0;
    std::uint16_t payload_bytes =
        0;                    // largest data payload this worker can receive; multiple of 64
    std::uint16_t slots = 0;  // wanted; a power of two from min_slots to max_slots
    std::uint32_t peer_timeout_ms = 0;  // at least min_peer_timeout_ms, else it is refused
    bool checksums = false;             // every data packet carries a checksum
    bool float_sums = false;            // ops that add in rank order will be used: the aggregator
                                        // holds early ranks back
    std::string job;

    static constexpr std::size_t bytes = 88;
};

// Bytes 0-7 nonce | 8-9 answered bytes | 10-11 ranks joined | 12-13 lowest missing rank | 14-15 0.
struct Waiting {
    std::uint64_t nonce = 0;
    std::uint16_t answered_bytes = 0;  // length of the join datagram this answers, header included
    std::uint16_t joined = 0;
    std::uint16_t missing_rank = 0;

    static constexpr std::size_t bytes = 16;
};

// Bytes 0-7 nonce | 8-9 answered bytes | 10-11 payload bytes | 12-13 slots |
// 14 options as in Join | 15 zero | 16-19 peer timeout in ms. The session is in the header.
struct Welcome {
    std::uint64_t nonce = 0;
    std::uint16_t answered_bytes = 0;
    std::uint16_t payload_bytes = 0;    // the smallest of all ranks' and the aggregator's
    std::uint16_t slots = 0;            // likewise; a power of two, at least min_slots
    std::uint32_t peer_timeout_ms = 0;  // the largest of all ranks'
    bool checksums = false;             // on if any rank asked for them
    bool float_sums = false;

    static constexpr std::size_t bytes = 20;
};

enum class Refusal : std::uint16_t {
    world_size = 1,  // others of this job joined with another world size
    rank_taken = 2,  // another live process holds this rank
    rank_range = 3,  // rank is not below world size, or world size is 0 or above the limit
    capacity = 4,    // the aggregator has no room for a further job
    payload = 5,     // the payload is too small or no multiple of 64
    malformed = 6,
    peer_timeout = 7  // below min_peer_timeout_ms
};

// Bytes 0-7 nonce | 8-9 code | 10-11 length of text | text (UTF-8): cause and remedy.
struct Refused {
    std::uint64_t nonce = 0;
    Refusal code{};
    std::string text;

    static constexpr std::size_t head_bytes = 12;
};

// Payload of a `pending` data packet. Bytes 0-1 ranks present | 2-3 lowest missing rank.
struct Pending {
    std::uint16_t present = 0;
    std::uint16_t missing_rank = 0;

    static constexpr std::size_t bytes = 4;
};

// Bytes 0-1 lost rank | 2 bit 0: it left by itself | 3 zero.
struct PeerLostNotice {
    std::uint16_t rank = 0;
    bool left = false;

    static constexpr std::size_t bytes = 4;
};

// The header names the addressee's use and its op: slot, version, sequence.
// Bytes 0-1 other rank | 2-3 its length | 4-5 the addressee's length | 6 the other's op | 7 zero.
struct Contradiction {
    std::uint16_t other_rank = 0;
    std::uint16_t other_bytes = 0;
    std::uint16_t own_bytes = 0;
    Op other_op = Op::none;

    static constexpr std::size_t bytes = 8;
};

// Each write returns the bytes used of `out`, which must hold the struct's `bytes`
// (Refused: head_bytes + text, cut to max_refusal_text).
std::size_t write(const Join& join, std::span<std::byte> out);
std::size_t write(const Waiting& waiting, std::span<std::byte> out);
std::size_t write(const Welcome& welcome, std::span<std::byte> out);
std::size_t write(const Refused& refused, std::span<std::byte> out);
std::size_t write(const Pending& pending, std::span<std::byte> out);
std::size_t write(const PeerLostNotice& notice, std::span<std::byte> out);
std::size_t write(const Contradiction& contradiction, std::span<std::byte> out);

// Each read takes a payload (trailing padding is ignored) and is empty if it is too short or holds
// a value that the comments above exclude by form.
std::optional<Join> read_join(std::span<const std::byte> payload);
std::optional<Waiting> read_waiting(std::span<const std::byte> payload);
std::optional<Welcome> read_welcome(std::span<const std::byte> payload);
std::optional<Refused> read_refused(std::span<const std::byte> payload);
std::optional<Pending> read_pending(std::span<const std::byte> payload);
std::optional<PeerLostNotice> read_peer_lost(std::span<const std::byte> payload);
std::optional<Contradiction> read_contradiction(std::span<const std::byte> payload);

}  // namespace sumwire::nic
