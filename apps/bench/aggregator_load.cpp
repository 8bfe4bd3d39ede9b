#include "apps/bench/aggregator_load.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <stdexcept>
#include <type_traits>

#include "nic/control.h"

namespace sumwire::apps {
namespace {

constexpr std::uint16_t smallest_window = 8;

struct OpName {
    nic::Op op;
    std::string_view name;
};

constexpr std::array op_names{
    OpName{nic::Op::bit_or, "or"},       OpName{nic::Op::add_i32, "add_i32"},
    OpName{nic::Op::add_i64, "add_i64"}, OpName{nic::Op::add_f32, "add_f32"},
    OpName{nic::Op::add_f64, "add_f64"}, OpName{nic::Op::max_u8, "max_u8"},
    OpName{nic::Op::max_u16, "max_u16"}, OpName{nic::Op::max_u32, "max_u32"},
    OpName{nic::Op::max_u64, "max_u64"}};

// Floats must be numbers; integers may be any bits.
template <typename T>
T draw(nic::Op op, std::mt19937_64& generator) {
    if constexpr (std::is_floating_point_v<T>) {
        return std::normal_distribution<T>()(generator);
    } else {
        const auto bits = generator();
        return static_cast<T>(op == nic::Op::bit_or ? bits & generator() & generator() : bits);
    }
}

// What the aggregator must come to, element by element.
template <typename T>
T combine(nic::Op op, T a, T b) {
    if constexpr (!std::is_floating_point_v<T>) {
        if (op == nic::Op::bit_or) return a | b;
    }
    const bool adds = op == nic::Op::add_i32 || op == nic::Op::add_i64 || op == nic::Op::add_f32 ||
                      op == nic::Op::add_f64;
    if (adds) return static_cast<T>(a + b);
    return a < b ? b : a;
}

template <typename F>
void with_element(nic::Op op, F&& f) {
    switch (op) {
        case nic::Op::add_f32:
            return f(float{});
        case nic::Op::add_f64:
            return f(double{});
        case nic::Op::max_u8:
            return f(std::uint8_t{});
        case nic::Op::max_u16:
            return f(std::uint16_t{});
        case nic::Op::add_i64:
        case nic::Op::max_u64:
            return f(std::uint64_t{});
        default:
            return f(std::uint32_t{});
    }
}

}  // namespace

AggregatorLoad::AggregatorLoad(const LoadSpec& spec)
    : spec_(spec),
      frame_bytes_(nic::frame_overhead_bytes + spec.payload_bytes),
      memory_(gpu::host_device().allocate(2 * spec.slots * spec.workers * frame_bytes_)),
      expected_(2 * spec.slots * spec.payload_bytes) {
    std::mt19937_64 generator(0x5357);
    with_element(spec.op, [&](auto zero) {
        using T = decltype(zero);
        std::vector<T> sum(spec.payload_bytes / sizeof(T));
        std::vector<T> values(sum.size());
        for (const bool version : {false, true}) {
            for (unsigned slot = 0; slot < spec.slots; ++slot) {
                for (unsigned rank = 0; rank < spec.workers; ++rank) {
                    for (auto& value : values)
                        value = draw<T>(spec.op, generator);
                    std::memcpy(datagram(version, slot, rank).data() + nic::header_bytes,
                                values.data(), spec.payload_bytes);
                    for (std::size_t i = 0; i < sum.size(); ++i)
                        sum[i] = rank == 0 ? values[i] : combine(spec.op, sum[i], values[i]);
                }
                std::memcpy(expected_.data() + index(version, slot) * spec.payload_bytes,
                            sum.data(), spec.payload_bytes);
            }
        }
    });
}

std::size_t AggregatorLoad::index(bool version, unsigned slot) const {
    return (version ? spec_.slots : 0U) + slot;
}

std::span<std::byte> AggregatorLoad::datagram(bool version, unsigned slot, unsigned rank) const {
    const auto frame = index(version, slot) * spec_.workers + rank;
    return memory_.bytes().subspan(frame * frame_bytes_ + nic::network_header_bytes,
                                   nic::header_bytes + spec_.payload_bytes);
}

std::span<const std::byte> AggregatorLoad::payload(bool version, unsigned slot,
                                                   unsigned rank) const {
    return datagram(version, slot, rank).subspan(nic::header_bytes);
}

std::span<const std::byte> AggregatorLoad::expected(bool version, unsigned slot) const {
    return std::span(expected_).subspan(index(version, slot) * spec_.payload_bytes,
                                        spec_.payload_bytes);
}

nic::Header AggregatorLoad::header(std::uint32_t sequence, unsigned rank,
                                   std::uint64_t session) const {
    return {.type = nic::PacketType::contribution,
            .op = spec_.op,
            .rank = static_cast<std::uint16_t>(rank),
            .session = session,
            .sequence = sequence,
            .slot = static_cast<std::uint16_t>(sequence % spec_.slots),
            .slot_version = (sequence / spec_.slots) % 2 == 1};
}

nic::Op parse_op(std::string_view text) {
    for (const auto& [op, name] : op_names)
        if (text == name) return op;
    throw std::invalid_argument(
        fmt::format("--op {}: unknown; use {}", text, fmt::join(all_op_names(), ", ")));
}

std::vector<std::string> all_op_names() {
    std::vector<std::string> names;
    for (const auto& entry : op_names)
        names.emplace_back(entry.name);
    return names;
}

std::vector<std::byte> join_datagram(const LoadSpec& spec, unsigned rank, std::uint64_t nonce) {
    std::vector<std::byte> datagram(nic::header_bytes +
                                    std::max(spec.payload_bytes, nic::Join::bytes));
    nic::write_header({.type = nic::PacketType::join, .rank = static_cast<std::uint16_t>(rank)},
                      std::span(datagram).first<nic::header_bytes>());
    nic::write(nic::Join{.nonce = nonce,
                         .rank = static_cast<std::uint16_t>(rank),
                         .world_size = static_cast<std::uint16_t>(spec.workers),
                         .payload_bytes = static_cast<std::uint16_t>(spec.payload_bytes),
                         .slots = std::max(static_cast<std::uint16_t>(spec.slots), smallest_window),
                         .peer_timeout_ms = 5000,
                         .float_sums = nic::adds_in_rank_order(spec.op),
                         .job = "bench"},
               std::span(datagram).subspan(nic::header_bytes));
    return datagram;
}

std::vector<std::byte> leave_datagram(unsigned rank, std::uint64_t session) {
    std::vector<std::byte> datagram(nic::header_bytes);
    nic::write_header({.type = nic::PacketType::leave,
                       .rank = static_cast<std::uint16_t>(rank),
                       .session = session},
                      std::span(datagram).first<nic::header_bytes>());
    return datagram;
}

}  // namespace sumwire::apps
