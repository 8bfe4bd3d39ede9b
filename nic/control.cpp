#include "nic/control.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "nic/byte_order.h"

namespace sumwire::nic {
namespace {

constexpr std::uint8_t checksums_bit = 1;
constexpr std::uint8_t float_sums_bit = 2;
constexpr std::size_t job_at = 24;
static_assert(job_at + max_job_name + 1 == Join::bytes);

std::byte options(bool checksums, bool float_sums) {
    return static_cast<std::byte>((checksums ? checksums_bit : 0U) |
                                  (float_sums ? float_sums_bit : 0U));
}

bool has(std::byte options, std::uint8_t bit) {
    return (static_cast<std::uint8_t>(options) & bit) != 0;
}

bool known_options(std::byte options) {
    return (static_cast<std::uint8_t>(options) & ~(checksums_bit | float_sums_bit)) == 0;
}

bool all_zero(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

bool valid_slots(std::uint16_t slots) {
    return std::has_single_bit(slots) && slots >= min_slots && slots <= max_slots;
}

// At most `limit` bytes of the text, never ending within a UTF-8 sequence.
std::string_view cut(std::string_view text, std::size_t limit) {
    if (text.size() <= limit) return text;
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80)
        --limit;
    return text.substr(0, limit);
}

}  // namespace

std::size_t write(const Join& join, std::span<std::byte> out) {
    std::byte* p = out.data();
    std::memset(p, 0, Join::bytes);
    store_big<std::uint64_t>(p, join.nonce);
    store_big<std::uint16_t>(p + 8, join.rank);
    store_big<std::uint16_t>(p + 10, join.world_size);
    store_big<std::uint16_t>(p + 12, join.payload_bytes);
    store_big<std::uint16_t>(p + 14, join.slots);
    store_big<std::uint32_t>(p + 16, join.peer_timeout_ms);
    p[20] = options(join.checksums, join.float_sums);
    std::memcpy(p + job_at, join.job.data(), std::min(join.job.size(), max_job_name));
    return Join::bytes;
}

std::size_t write(const Waiting& waiting, std::span<std::byte> out) {
    std::byte* p = out.data();
    store_big<std::uint64_t>(p, waiting.nonce);
    store_big<std::uint16_t>(p + 8, waiting.answered_bytes);
    store_big<std::uint16_t>(p + 10, waiting.joined);
    store_big<std::uint16_t>(p + 12, waiting.missing_rank);
    store_big<std::uint16_t>(p + 14, 0);
    return Waiting::bytes;
}

std::size_t write(const Welcome& welcome, std::span<std::byte> out) {
    std::byte* p = out.data();
    store_big<std::uint64_t>(p, welcome.nonce);
    store_big<std::uint16_t>(p + 8, welcome.answered_bytes);
    store_big<std::uint16_t>(p + 10, welcome.payload_bytes);
    store_big<std::uint16_t>(p + 12, welcome.slots);
    p[14] = options(welcome.checksums, welcome.float_sums);
    p[15] = std::byte{0};
    store_big<std::uint32_t>(p + 16, welcome.peer_timeout_ms);
    return Welcome::bytes;
}

std::size_t write(const Refused& refused, std::span<std::byte> out) {
    const std::string_view text = cut(refused.text, max_refusal_text);
    std::byte* p = out.data();
    store_big<std::uint64_t>(p, refused.nonce);
    store_big<std::uint16_t>(p + 8, static_cast<std::uint16_t>(refused.code));
    store_big<std::uint16_t>(p + 10, static_cast<std::uint16_t>(text.size()));
    std::memcpy(p + Refused::head_bytes, text.data(), text.size());
    return Refused::head_bytes + text.size();
}

std::size_t write(const Pending& pending, std::span<std::byte> out) {
    store_big<std::uint16_t>(out.data(), pending.present);
    store_big<std::uint16_t>(out.data() + 2, pending.missing_rank);
    return Pending::bytes;
}

std::size_t write(const PeerLostNotice& notice, std::span<std::byte> out) {
    store_big<std::uint16_t>(out.data(), notice.rank);
    out[2] = std::byte{notice.left};
    out[3] = std::byte{0};
    return PeerLostNotice::bytes;
}

std::size_t write(const Contradiction& contradiction, std::span<std::byte> out) {
    std::byte* p = out.data();
    store_big<std::uint16_t>(p, contradiction.other_rank);
    store_big<std::uint16_t>(p + 2, contradiction.other_bytes);
    store_big<std::uint16_t>(p + 4, contradiction.own_bytes);
    p[6] = static_cast<std::byte>(contradiction.other_op);
    p[7] = std::byte{0};
    return Contradiction::bytes;
}

std::optional<Join> read_join(std::span<const std::byte> payload) {
    if (payload.size() < Join::bytes) return std::nullopt;
    const std::byte* p = payload.data();
    if (!known_options(p[20]) || !all_zero(payload.subspan(21, 3))) return std::nullopt;

    const auto name = payload.subspan(job_at, max_job_name + 1);
    const auto end = std::ranges::find(name, std::byte{0});
    if (end == name.begin() || end == name.end()) return std::nullopt;
    if (!all_zero({end, name.end()})) return std::nullopt;

    Join join;
    join.nonce = load_big<std::uint64_t>(p);
    join.rank = load_big<std::uint16_t>(p + 8);
    join.world_size = load_big<std::uint16_t>(p + 10);
    join.payload_bytes = load_big<std::uint16_t>(p + 12);
    join.slots = load_big<std::uint16_t>(p + 14);
    join.peer_timeout_ms = load_big<std::uint32_t>(p + 16);
    join.checksums = has(p[20], checksums_bit);
    join.float_sums = has(p[20], float_sums_bit);
    if (!valid_slots(join.slots)) return std::nullopt;
    join.job.assign(reinterpret_cast<const char*>(name.data()),
                    static_cast<std::size_t>(end - name.begin()));
    return join;
}

std::optional<Waiting> read_waiting(std::span<const std::byte> payload) {
    if (payload.size() < Waiting::bytes || !all_zero(payload.subspan(14, 2))) return std::nullopt;
    const std::byte* p = payload.data();
    Waiting waiting;
    waiting.nonce = load_big<std::uint64_t>(p);
    waiting.answered_bytes = load_big<std::uint16_t>(p + 8);
    waiting.joined = load_big<std::uint16_t>(p + 10);
    waiting.missing_rank = load_big<std::uint16_t>(p + 12);
    return waiting;
}

std::optional<Welcome> read_welcome(std::span<const std::byte> payload) {
    if (payload.size() < Welcome::bytes) return std::nullopt;
    const std::byte* p = payload.data();
    if (!known_options(p[14]) || p[15] != std::byte{0}) return std::nullopt;
    Welcome welcome;
    welcome.nonce = load_big<std::uint64_t>(p);
    welcome.answered_bytes = load_big<std::uint16_t>(p + 8);
    welcome.payload_bytes = load_big<std::uint16_t>(p + 10);
    welcome.slots = load_big<std::uint16_t>(p + 12);
    welcome.checksums = has(p[14], checksums_bit);
    welcome.float_sums = has(p[14], float_sums_bit);
    welcome.peer_timeout_ms = load_big<std::uint32_t>(p + 16);
    if (welcome.payload_bytes == 0 || welcome.payload_bytes % 64 != 0) return std::nullopt;
    if (!valid_slots(welcome.slots)) return std::nullopt;
    if (welcome.peer_timeout_ms < min_peer_timeout_ms) return std::nullopt;
    return welcome;
}

std::optional<Refused> read_refused(std::span<const std::byte> payload) {
    if (payload.size() < Refused::head_bytes) return std::nullopt;
    const std::byte* p = payload.data();
    const auto code = load_big<std::uint16_t>(p + 8);
    const std::size_t length = load_big<std::uint16_t>(p + 10);
    if (code < static_cast<std::uint16_t>(Refusal::world_size) ||
        code > static_cast<std::uint16_t>(Refusal::peer_timeout)) {
        return std::nullopt;
    }
    if (length > max_refusal_text || length > payload.size() - Refused::head_bytes) {
        return std::nullopt;
    }
    Refused refused;
    refused.nonce = load_big<std::uint64_t>(p);
    refused.code = static_cast<Refusal>(code);
    refused.text.assign(reinterpret_cast<const char*>(p + Refused::head_bytes), length);
    return refused;
}

std::optional<Pending> read_pending(std::span<const std::byte> payload) {
    if (payload.size() < Pending::bytes) return std::nullopt;
    Pending pending;
    pending.present = load_big<std::uint16_t>(payload.data());
    pending.missing_rank = load_big<std::uint16_t>(payload.data() + 2);
    return pending;
}

std::optional<PeerLostNotice> read_peer_lost(std::span<const std::byte> payload) {
    if (payload.size() < PeerLostNotice::bytes) return std::nullopt;
    if ((payload[2] & ~std::byte{1}) != std::byte{0} || payload[3] != std::byte{0}) {
        return std::nullopt;
    }
    PeerLostNotice notice;
    notice.rank = load_big<std::uint16_t>(payload.data());
    notice.left = payload[2] != std::byte{0};
    return notice;
}

std::optional<Contradiction> read_contradiction(std::span<const std::byte> payload) {
    if (payload.size() < Contradiction::bytes || payload[7] != std::byte{0}) return std::nullopt;
    const auto op = static_cast<std::uint8_t>(payload[6]);
    if (op > static_cast<std::uint8_t>(last_op)) return std::nullopt;
    Contradiction contradiction;
    contradiction.other_rank = load_big<std::uint16_t>(payload.data());
    contradiction.other_bytes = load_big<std::uint16_t>(payload.data() + 2);
    contradiction.own_bytes = load_big<std::uint16_t>(payload.data() + 4);
    contradiction.other_op = static_cast<Op>(op);
    return contradiction;
}

}  // namespace sumwire::nic
