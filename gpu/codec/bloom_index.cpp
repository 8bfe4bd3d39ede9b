#include "gpu/codec/bloom_index.h"

#include <algorithm>
#include <bit>

#include "gpu/codec/bitmap.h"
#include "gpu/codec/count_sketch.h"

namespace sumwire::gpu {

namespace {

// A filter of m bits with k hashes lets p = 2^-k pass at m = k / ln 2 bits an element, where it is
// half full. What passes costs 38 bits in a sketch; the sum is least at p = 0.055 elements of the
// union for each one outside, hence with about 4 hashes more than the binary digits of that ratio.
constexpr std::uint32_t more_hashes = 4;
constexpr std::uint32_t most_hashes = 12;
// In fewer the hashes of an element are too much alike.
constexpr std::uint32_t least_words = 64;

std::uint32_t hashes_for(std::uint32_t expected, std::uint32_t count) {
    const auto digits = static_cast<std::uint32_t>(std::bit_width(count / expected));
    return std::min(digits - 1 + more_hashes, most_hashes);
}

struct Hashes {
    std::uint32_t first;
    std::uint32_t step;
    std::uint32_t bits;

    Hashes(const BloomShape& shape, std::uint32_t element)
        : first(mix(element + static_cast<std::uint32_t>(shape.seed))),
          step(mix(first ^ static_cast<std::uint32_t>(shape.seed >> 32)) | 1),
          bits(32 * shape.words) {}

    std::uint32_t bit(std::uint32_t i) const {
        return static_cast<std::uint32_t>(std::uint64_t{first + i * step} * bits >> 32);
    }
};

}  // namespace

BloomShape bloom_shape(std::uint32_t expected, std::uint32_t count, std::uint64_t seed) {
    expected = std::max(expected, 1u);
    if (expected > count / 8) return {};
    BloomShape shape{.words = 0, .hashes = hashes_for(expected, count), .seed = seed};
    // 1.4375 is a little less than 1 / ln 2.
    const std::uint64_t bits = std::uint64_t{expected} * shape.hashes * 23 / 16;
    const std::uint32_t words = std::max(static_cast<std::uint32_t>(bits / 32 + 1), least_words);
    // Asking it takes longer than reading a bitmap.
    if (words < blocks_of(count) / 4 * 3) shape.words = words;
    return shape;
}

std::uint32_t false_positives(std::uint32_t expected, std::uint32_t count) {
    expected = std::max(expected, 1u);
    return (count >> std::min(hashes_for(expected, count), 31u)) + 1;
}

void fill_bloom(const BloomShape& shape, std::span<const std::uint32_t> index,
                std::span<std::uint32_t> filter) {
    std::ranges::fill(filter, 0);
    for (std::uint32_t b = 0; b < index.size(); ++b) {
        for_each_bit(index[b], [&](std::uint32_t i) {
            const Hashes hashes(shape, b * block_elements + i);
            for (std::uint32_t h = 0; h < shape.hashes; ++h) {
                const std::uint32_t bit = hashes.bit(h);
                filter[bit / 32] |= std::uint32_t{1} << bit % 32;
            }
        });
    }
}

void bloom_candidates(const BloomShape& shape, std::span<const std::uint32_t> filter,
                      std::uint32_t count, std::span<std::uint32_t> index) {
    const auto has = [&](std::uint32_t bit) { return filter[bit / 32] >> bit % 32 & 1; };
    // Without branches on the first three bits, which are as good as random; few elements get on.
    for (std::uint32_t b = 0; b < index.size(); ++b) {
        const std::uint32_t base = b * block_elements;
        std::uint32_t mask = 0;
        for (std::uint32_t i = 0; i < block_elements; ++i) {
            const Hashes hashes(shape, base + i);
            const std::uint32_t all = has(hashes.bit(0)) & has(hashes.bit(1)) & has(hashes.bit(2));
            mask |= all << i;
        }
        if (base + block_elements > count) mask &= last_block_mask(count);
        std::uint32_t passed = 0;
        for_each_bit(mask, [&](std::uint32_t i) {
            const Hashes hashes(shape, base + i);
            std::uint32_t h = 3;
            while (h < shape.hashes && has(hashes.bit(h)) != 0)
                ++h;
            if (h >= shape.hashes) passed |= std::uint32_t{1} << i;
        });
        index[b] = passed;
    }
}

}  // namespace sumwire::gpu
