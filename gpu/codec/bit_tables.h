// Permutations by the bits of a byte.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sumwire::gpu {

inline constexpr std::size_t bit_table_lanes = 8;
using BitTable = std::array<std::array<std::uint8_t, bit_table_lanes>, 256>;

// The positions of the set bits, lowest first; then zeros.
constexpr BitTable make_set_bits() {
    BitTable table{};
    for (unsigned byte = 0; byte < table.size(); ++byte) {
        std::size_t next = 0;
        for (unsigned bit = 0; bit < bit_table_lanes; ++bit) {
            if ((byte >> bit & 1) != 0) table[byte][next++] = static_cast<std::uint8_t>(bit);
        }
    }
    return table;
}

// For each bit: how many set bits are below it.
constexpr BitTable make_bits_below() {
    BitTable table{};
    for (unsigned byte = 0; byte < table.size(); ++byte) {
        for (unsigned bit = 0; bit < bit_table_lanes; ++bit) {
            const unsigned below = byte & ((1u << bit) - 1);
            table[byte][bit] = static_cast<std::uint8_t>(std::popcount(below));
        }
    }
    return table;
}

alignas(64) inline constexpr BitTable set_bits_of = make_set_bits();
alignas(64) inline constexpr BitTable bits_below = make_bits_below();

}  // namespace sumwire::gpu
