#include "gpu/codec/bitmap.h"

#include <algorithm>
#include <cstddef>

namespace sumwire::gpu {

void index_all(std::uint32_t count, std::span<std::uint32_t> index) {
    std::ranges::fill(index, full_block);
    index.back() = last_block_mask(count);
}

std::uint32_t population(std::span<const std::uint32_t> index) {
    std::uint32_t sum = 0;
    for (const std::uint32_t mask : index)
        sum += static_cast<std::uint32_t>(std::popcount(mask));
    return sum;
}

bool is_union_of(std::span<const std::uint32_t> whole, std::span<const std::uint32_t> part,
                 std::uint32_t count) {
    std::uint32_t wrong = whole.back() & ~last_block_mask(count);
    for (std::size_t b = 0; b < whole.size(); ++b)
        wrong |= part[b] & ~whole[b];
    return wrong == 0;
}

void list_positions(std::span<const std::uint32_t> index, std::span<std::uint32_t> positions) {
    std::size_t next = 0;
    for (std::size_t b = 0; b < index.size(); ++b) {
        const auto base = static_cast<std::uint32_t>(b) * block_elements;
        if (index[b] == full_block) {
            for (std::uint32_t i = 0; i < block_elements; ++i)
                positions[next++] = base + i;
            continue;
        }
        for_each_bit(index[b], [&](std::uint32_t i) { positions[next++] = base + i; });
    }
}

}  // namespace sumwire::gpu
