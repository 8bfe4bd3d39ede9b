#include "nic/wire.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "nic/byte_order.h"
#include "nic/crc32c.h"

namespace sumwire::nic {
namespace {

// Byte offsets of the fields, as wire.h documents them.
constexpr std::size_t op_at = 1;
constexpr std::size_t rank_at = 2;
constexpr std::size_t session_at = 4;
constexpr std::size_t sequence_at = 12;
constexpr std::size_t slot_at = 16;
constexpr std::size_t checksum_at = 18;
constexpr std::uint16_t slot_version_bit = 0x8000;

std::uint32_t checksum_of(std::span<const std::byte> header, std::uint32_t payload_crc) {
    std::array<std::byte, header_bytes> without{};
    std::copy_n(header.begin(), checksum_at, without.begin());
    const std::uint32_t crc = crc32c(without, payload_crc);
    return crc == 0 ? ~crc : crc;
}

}  // namespace

std::string_view op_text(Op op) {
    switch (op) {
        case Op::none:
            return "nothing";
        case Op::bit_or:
            return "a bitwise or";
        case Op::add_i32:
            return "a sum of integers";
        case Op::max_u8:
            return "a maximum of bytes";
        case Op::add_f32:
            return "a sum of floats";
        case Op::add_i64:
            return "a sum of 64-bit integers";
        case Op::add_f64:
            return "a sum of doubles";
        case Op::max_u16:
            return "a maximum of 16-bit words";
        case Op::max_u32:
            return "a maximum of 32-bit words";
        case Op::max_u64:
            return "a maximum of 64-bit words";
    }
    return "an unknown operation";
}

std::size_t element_bytes(Op op) {
    switch (op) {
        case Op::none:
        case Op::max_u8:
            return 1;
        case Op::max_u16:
            return 2;
        case Op::bit_or:
        case Op::add_i32:
        case Op::add_f32:
        case Op::max_u32:
            return 4;
        case Op::add_i64:
        case Op::add_f64:
        case Op::max_u64:
            return 8;
    }
    return 1;
}

void write_header(const Header& header, std::span<std::byte, header_bytes> out) {
    std::byte* p = out.data();
    p[0] = static_cast<std::byte>((wire_version << 4) | static_cast<unsigned>(header.type));
    p[op_at] = static_cast<std::byte>(static_cast<unsigned>(header.op) << 4);
    store_big<std::uint16_t>(p + rank_at, header.rank);
    store_big<std::uint64_t>(p + session_at, header.session);
    store_big<std::uint32_t>(p + sequence_at, header.sequence);
    const unsigned slot = header.slot & (slot_version_bit - 1U);
    store_big(p + slot_at,
              static_cast<std::uint16_t>(slot | (header.slot_version ? slot_version_bit : 0U)));
    store_big<std::uint32_t>(p + checksum_at, 0);
}

std::optional<Header> read_header(std::span<const std::byte> datagram) {
    if (datagram.size() < header_bytes) return std::nullopt;
    const std::byte* p = datagram.data();
    const auto first = static_cast<std::uint8_t>(p[0]);
    const auto op = static_cast<std::uint8_t>(static_cast<std::uint8_t>(p[op_at]) >> 4);
    const std::uint8_t type = first & 0xf;
    if (first >> 4 != wire_version) return std::nullopt;
    if (type < static_cast<std::uint8_t>(PacketType::contribution) ||
        type > static_cast<std::uint8_t>(PacketType::closing)) {
        return std::nullopt;
    }
    if (op > static_cast<std::uint8_t>(last_op)) return std::nullopt;

    Header header;
    header.type = static_cast<PacketType>(type);
    header.op = static_cast<Op>(op);
    header.rank = load_big<std::uint16_t>(p + rank_at);
    header.session = load_big<std::uint64_t>(p + session_at);
    header.sequence = load_big<std::uint32_t>(p + sequence_at);
    const auto slot = load_big<std::uint16_t>(p + slot_at);
    header.slot = static_cast<std::uint16_t>(slot & (slot_version_bit - 1U));
    header.slot_version = (slot & slot_version_bit) != 0;
    return header;
}

void seal(std::span<std::byte, header_bytes> header, std::span<const std::byte> payload) {
    seal(header, crc32c(payload));
}

void seal(std::span<std::byte, header_bytes> header, std::uint32_t payload_crc) {
    store_big<std::uint32_t>(header.data() + checksum_at, checksum_of(header, payload_crc));
}

Checksum check(std::span<const std::byte> datagram) {
    if (datagram.size() < header_bytes) return Checksum::wrong;
    const auto stored = load_big<std::uint32_t>(datagram.data() + checksum_at);
    if (stored == 0) return Checksum::absent;
    const auto header = datagram.first<header_bytes>();
    const std::uint32_t payload_crc = crc32c(datagram.subspan(header_bytes));
    return stored == checksum_of(header, payload_crc) ? Checksum::right : Checksum::wrong;
}

}  // namespace sumwire::nic
