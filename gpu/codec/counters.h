// Ors and maxima for networks that can only add: counters of how many ranks say so.
//
// A counter has 2, 4 or 8 bits, as the world size needs, and they lie side by side in 32-bit words,
// which the network adds: none overflows into its neighbour. A bit becomes a counter, a byte 256 of
// them, one for each value, of which the highest that is not zero is the maximum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sumwire::gpu {

inline constexpr std::uint32_t max_counted_ranks = 255;

// For 1 to max_counted_ranks.
constexpr unsigned counter_bits(std::uint32_t world_size) {
    return world_size <= 3 ? 2 : world_size <= 15 ? 4 : 8;
}

constexpr std::size_t bit_counter_bytes(std::size_t bytes, unsigned counter_bits) {
    return bytes * counter_bits;
}
constexpr std::size_t byte_counter_bytes(std::size_t bytes, unsigned counter_bits) {
    return bytes * 256 * counter_bits / 8;
}

// One rank's counters. `counters` has the bytes that the functions above tell.
void count_bits(std::span<const std::byte> bits, unsigned counter_bits,
                std::span<std::byte> counters);
void count_bytes(std::span<const std::byte> bytes, unsigned counter_bits,
                 std::span<std::byte> counters);

// What the sums of all ranks' counters say. Any bytes are counters.
void or_of(std::span<const std::byte> counters, unsigned counter_bits, std::span<std::byte> bits);
void maximum_of(std::span<const std::byte> counters, unsigned counter_bits,
                std::span<std::byte> bytes);

}  // namespace sumwire::gpu
