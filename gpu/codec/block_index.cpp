#include "gpu/codec/block_index.h"

#include <algorithm>

namespace sumwire::gpu {

namespace {

constexpr bool is_full(std::uint32_t block, std::uint32_t possible) {
    const std::uint32_t missing = possible & ~block;
    return block != 0 && (missing & (missing - 1)) == 0;
}

std::uint32_t possible_bits(std::size_t block, std::uint32_t count) {
    return block + 1 == blocks_of(count) ? last_block_mask(count) : full_block;
}

struct LevelWord {
    std::uint32_t occupied = 0;
    std::uint32_t full = 0;
};

LevelWord summarise_word(std::span<const std::uint32_t> index, std::uint32_t count, std::size_t w) {
    LevelWord word;
    const std::size_t first = w * block_elements;
    const std::size_t end = std::min<std::size_t>(first + block_elements, index.size());
    for (std::size_t b = first; b < end; ++b) {
        if (index[b] == 0) continue;
        word.occupied |= std::uint32_t{1} << (b - first);
        const auto full = static_cast<std::uint32_t>(is_full(index[b], possible_bits(b, count)));
        word.full |= full << (b - first);
    }
    return word;
}

}  // namespace

void summarise(std::span<const std::uint32_t> index, std::uint32_t count, const BlockLevel& level) {
    for (std::size_t w = 0; w < level.occupied.size(); ++w) {
        const LevelWord word = summarise_word(index, count, w);
        level.occupied[w] = word.occupied;
        level.full[w] = word.full;
    }
}

bool level_is_possible(const BlockLevel& whole, std::span<const std::uint32_t> index,
                       std::uint32_t count) {
    std::uint32_t wrong = whole.occupied.back() & ~last_block_mask(blocks_of(count));
    for (std::size_t w = 0; w < whole.occupied.size(); ++w) {
        const LevelWord own = summarise_word(index, count, w);
        wrong |= whole.full[w] & ~whole.occupied[w];
        wrong |= own.occupied & ~whole.occupied[w];
        wrong |= own.full & ~whole.full[w];
    }
    return wrong == 0;
}

std::uint32_t partial_blocks(const BlockLevel& level) {
    return population(level.occupied) - population(level.full);
}

void take_partial(std::span<const std::uint32_t> index, const BlockLevel& level,
                  std::span<std::uint32_t> partial) {
    std::size_t next = 0;
    for (std::size_t w = 0; w < level.occupied.size(); ++w) {
        for_each_bit(level.occupied[w] & ~level.full[w], [&](std::uint32_t i) {
            partial[next++] = index[w * block_elements + i];
        });
    }
}

void put_together(const BlockLevel& level, std::span<const std::uint32_t> partial,
                  std::uint32_t count, std::span<std::uint32_t> index) {
    std::ranges::fill(index, 0);
    std::size_t next = 0;
    for (std::size_t w = 0; w < level.occupied.size(); ++w) {
        for_each_bit(level.occupied[w], [&](std::uint32_t i) {
            const std::size_t block = w * block_elements + i;
            const bool full = (level.full[w] >> i & 1) != 0;
            index[block] = full ? possible_bits(block, count) : partial[next++];
        });
    }
}

}  // namespace sumwire::gpu
