// The index: one bit for each element of a chunk, 32 elements (a block) to a word, element 0 in the
// lowest bit. Bits beyond the count are zero.
//
// Over spans: an index has blocks_of(count) words.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace sumwire::gpu {

static_assert(std::endian::native == std::endian::little, "messages are little endian");

inline constexpr std::uint32_t block_elements = 32;
inline constexpr std::uint32_t full_block = ~std::uint32_t{0};

constexpr std::uint32_t blocks_of(std::uint32_t count) {
    return (count + block_elements - 1) / block_elements;
}

// The bits of the last block that stand for elements.
constexpr std::uint32_t last_block_mask(std::uint32_t count) {
    const std::uint32_t rest = count % block_elements;
    return rest == 0 ? full_block : (std::uint32_t{1} << rest) - 1;
}

// Calls f(position of the bit) for each set bit, lowest first.
template <typename F>
inline void for_each_bit(std::uint32_t mask, F&& f) {
    while (mask != 0) {
        f(static_cast<std::uint32_t>(std::countr_zero(mask)));
        mask &= mask - 1;
    }
}

void index_all(std::uint32_t count, std::span<std::uint32_t> index);

std::uint32_t population(std::span<const std::uint32_t> index);
// Whether every bit of `part` is set in `whole`, and `whole` has none beyond the count.
bool is_union_of(std::span<const std::uint32_t> whole, std::span<const std::uint32_t> part,
                 std::uint32_t count);

// Positions of the set bits, ascending; as many as the population.
void list_positions(std::span<const std::uint32_t> index, std::span<std::uint32_t> positions);

}  // namespace sumwire::gpu
