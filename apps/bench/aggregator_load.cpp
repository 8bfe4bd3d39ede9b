#include "apps/bench/aggregator_load.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <stdexcept>

#include "nic/control.h"

namespace sumwire::apps {
namespace {

constexpr std::size_t word_bytes = 4;
constexpr std::uint16_t smallest_window = 8;

using Words = std::vector<std::uint32_t>;

std::uint32_t draw_word(nic::Op op, std::mt19937& generator) {
    switch (op) {
        case nic::Op::bit_or:
            return generator() & generator() & generator();
        case nic::Op::add_f32: {
            std::normal_distribution<float> normal;
            return std::bit_cast<std::uint32_t>(normal(generator));
        }
        default:
            return generator();
    }
}

std::uint32_t combine(nic::Op op, std::uint32_t a, std::uint32_t b) {
    switch (op) {
        case nic::Op::bit_or:
            return a | b;
        case nic::Op::add_f32:
            return std::bit_cast<std::uint32_t>(std::bit_cast<float>(a) + std::bit_cast<float>(b));
        case nic::Op::max_u8: {
            std::uint32_t result = 0;
            for (unsigned shift = 0; shift < 32; shift += 8)
                result |= std::max((a >> shift) & 0xFFU, (b >> shift) & 0xFFU) << shift;
            return result;
        }
        default:
            return a + b;
    }
}

}  // namespace

AggregatorLoad::AggregatorLoad(const LoadSpec& spec)
    : spec_(spec),
      frame_bytes_(nic::frame_overhead_bytes + spec.payload_bytes),
      memory_(gpu::host_device().allocate(2 * spec.slots * spec.workers * frame_bytes_)),
      expected_(2 * spec.slots * spec.payload_bytes) {
    std::mt19937 generator(0x5357);
    Words sum(spec.payload_bytes / word_bytes);
    for (const bool version : {false, true}) {
        for (unsigned slot = 0; slot < spec.slots; ++slot) {
            for (unsigned rank = 0; rank < spec.workers; ++rank) {
                Words words(sum.size());
                for (auto& word : words)
                    word = draw_word(spec.op, generator);
                std::memcpy(datagram(version, slot, rank).data() + nic::header_bytes, words.data(),
                            spec.payload_bytes);
                for (std::size_t i = 0; i < sum.size(); ++i)
                    sum[i] = rank == 0 ? words[i] : combine(spec.op, sum[i], words[i]);
            }
            std::memcpy(expected_.data() + index(version, slot) * spec.payload_bytes, sum.data(),
                        spec.payload_bytes);
        }
    }
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
    for (const auto op : {nic::Op::bit_or, nic::Op::add_i32, nic::Op::max_u8, nic::Op::add_f32})
        if (text == op_name(op)) return op;
    throw std::invalid_argument(
        fmt::format("--op {}: unknown; use or, add_i32, max_u8 or add_f32", text));
}

std::string_view op_name(nic::Op op) {
    switch (op) {
        case nic::Op::bit_or:
            return "or";
        case nic::Op::add_i32:
            return "add_i32";
        case nic::Op::max_u8:
            return "max_u8";
        case nic::Op::add_f32:
            return "add_f32";
        case nic::Op::none:
            break;
    }
    return "none";
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
                         .float_sums = spec.op == nic::Op::add_f32,
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
