// The Sumwire header: what stands between UDP and the payload of every datagram.
//
// Ethernet (14) + IPv4 (20) + UDP (8) + this header (22) end on byte 64, so that a NIC can split
// header from payload at a cache line. All fields are big endian.
//
//   byte   0      version (high 4 bits, 1) | type (low 4 bits, PacketType)
//   byte   1      op (high 4 bits, Op) | flags (low 4 bits, all reserved: sent as 0, ignored)
//   bytes  2-3    rank: the sender's in worker packets, the addressee's in aggregator packets
//   bytes  4-11   session: unguessable, drawn by the aggregator for each generation of a job;
//                 0 until the worker knows it (join, and the refusal of a join)
//   bytes 12-15   sequence: position in the slot's series of packets (serial arithmetic, wraps)
//   bytes 16-17   version of the slot (bit 15) | slot (bits 14-0)
//   bytes 18-21   CRC-32C over the payload, then this header with these four bytes zero; 0: not
//                 computed (a CRC that comes out as 0 is sent as 0xffffffff). The payload comes
//                 first so that what goes to many ranks is gone through once.
//
// The payload's length is the UDP length less the header. Data payloads are arrays of the op's
// elements, little endian, because both CPUs and GPUs that encode them are.
// Control payloads (control.h) are big endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sumwire::nic {

inline constexpr std::uint8_t wire_version = 1;
inline constexpr std::size_t header_bytes = 22;
// What Ethernet, IPv4 and UDP add before the header, without preamble, FCS and inter-frame gap.
inline constexpr std::size_t ip_and_udp_bytes = 20 + 8;
inline constexpr std::size_t network_header_bytes = 14 + ip_and_udp_bytes;
// What an MTU must hold besides the payload.
inline constexpr std::size_t packet_overhead_bytes = ip_and_udp_bytes + header_bytes;
inline constexpr std::size_t frame_overhead_bytes = network_header_bytes + header_bytes;
static_assert(frame_overhead_bytes == 64);

enum class PacketType : std::uint8_t {
    // Data.
    contribution = 1,  // worker -> aggregator: one rank's payload for a slot
    result = 2,        // aggregator -> worker: the aggregate of all ranks
    pending = 3,       // aggregator -> worker: a duplicate arrived, the slot still waits for others;
                       // or, naming the addressee: for this rank, whose packet may be lost
    // Liveness.
    heartbeat = 4,  // worker -> aggregator: alive; answered by the same type
    // Membership; payloads in control.h.
    join = 5,            // worker -> aggregator
    waiting = 6,         // aggregator -> worker: joined, other ranks still missing
    welcome = 7,         // aggregator -> worker: all ranks are here, the session begins
    refused = 8,         // aggregator -> worker: this join cannot succeed
    leave = 9,           // worker -> aggregator: this rank is done; answered by the same type
    peer_lost = 10,      // aggregator -> worker: a rank left or fell silent, the session is over
    contradiction = 11,  // aggregator -> worker: another rank sent another op or length to this use
    closing = 12         // aggregator -> worker: the aggregator ends, and the session with it
};

// How the aggregator combines the ranks' payloads of a slot.
enum class Op : std::uint8_t {
    none = 0,     // control packets
    bit_or = 1,   // bitwise or of 32-bit words
    add_i32 = 2,  // sum of 32-bit words modulo 2^32
    max_u8 = 3,   // maximum of unsigned bytes
    add_f32 = 4,  // IEEE float32 sum in rank order: ((x0 + x1) + x2) + ...
    add_i64 = 5,  // sum of 64-bit words modulo 2^64
    add_f64 = 6,  // IEEE float64 sum in rank order
    max_u16 = 7,  // maximum of unsigned 16-bit words
    max_u32 = 8,
    max_u64 = 9
};
inline constexpr Op last_op = Op::max_u64;

// Data payloads are a multiple of it. Op::none: 1.
std::size_t element_bytes(Op op);
// Whether the aggregate depends on the order of ranks.
constexpr bool adds_in_rank_order(Op op) {
    return op == Op::add_f32 || op == Op::add_f64;
}

// "a sum of integers" and the like, for messages to people.
std::string_view op_text(Op op);

struct Header {
    PacketType type{};
    Op op = Op::none;
    std::uint16_t rank = 0;
    std::uint64_t session = 0;
    std::uint32_t sequence = 0;
    std::uint16_t slot = 0;  // below max_slots
    bool slot_version = false;
};

inline constexpr std::uint16_t max_slots = 1U << 15;
inline constexpr std::uint16_t max_world_size = 1024;

// Writes the header; the checksum field becomes 0.
void write_header(const Header& header, std::span<std::byte, header_bytes> out);

// Reads the header of a datagram. Empty if it is shorter than a header, of another version, or if
// type or op are unknown. Does not look at the checksum.
std::optional<Header> read_header(std::span<const std::byte> datagram);

// Fills in the checksum of a header whose payload follows elsewhere.
void seal(std::span<std::byte, header_bytes> header, std::span<const std::byte> payload);
// The same, given crc32c(payload).
void seal(std::span<std::byte, header_bytes> header, std::uint32_t payload_crc);

// Whoever expects a checksum must treat `absent` like `wrong`: damage can zero the field.
enum class Checksum : std::uint8_t { absent, right, wrong };
// `wrong` if the datagram is shorter than a header.
Checksum check(std::span<const std::byte> datagram);

// True if a comes after b in serial-number arithmetic (RFC 1982) over 32 bits.
constexpr bool is_after(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::int32_t>(a - b) > 0;
}

}  // namespace sumwire::nic
