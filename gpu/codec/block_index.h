// The two-level index. The first level tells of each block whether it is empty, full, or neither;
// the second one is the index of those that are neither.
//
// First level: two bitmaps of one bit a block, combined by OR: which blocks have a non-zero, then
// which are to be taken as full. A rank calls a block full if no more than one of its elements is
// zero: sending the zero costs no more than sending the block's index. Each bitmap is padded with
// zero bits to 32-bit words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/codec/bitmap.h"

namespace sumwire::gpu {

// The words of either bitmap.
constexpr std::uint32_t block_set_words(std::uint32_t count) {
    return blocks_of(blocks_of(count));
}

struct BlockLevel {
    std::span<std::uint32_t> occupied;
    std::span<std::uint32_t> full;

    // Of memory with twice block_set_words(count) words.
    static BlockLevel in(std::span<std::uint32_t> words) {
        return {words.first(words.size() / 2), words.last(words.size() / 2)};
    }
};

// The first level of an index.
void summarise(std::span<const std::uint32_t> index, std::uint32_t count, const BlockLevel& level);

// Whether `whole` can be the OR of levels of which `index` has one.
bool level_is_possible(const BlockLevel& whole, std::span<const std::uint32_t> index,
                       std::uint32_t count);

// Blocks that are occupied but not full.
std::uint32_t partial_blocks(const BlockLevel& level);
// Their words of the index, one after the other.
void take_partial(std::span<const std::uint32_t> index, const BlockLevel& level,
                  std::span<std::uint32_t> partial);
// The index that both levels describe.
void put_together(const BlockLevel& level, std::span<const std::uint32_t> partial,
                  std::uint32_t count, std::span<std::uint32_t> index);

// Calls f(block) for each block of the set, ascending.
template <typename F>
void for_each_block(std::span<const std::uint32_t> set, F&& f) {
    for (std::uint32_t w = 0; w < set.size(); ++w)
        for_each_bit(set[w], [&](std::uint32_t i) { f(w * block_elements + i); });
}

}  // namespace sumwire::gpu
