// The index of few elements as a Bloom filter: much smaller than a bitmap where one element in
// twenty or fewer is non-zero and they do not cluster.
//
// The filter has `words` of 32 bits. Element p sets, and asks for, the bits
//
//   a = mix(p + low half of the seed),  b = mix(a ^ high half of the seed) | 1
//   bit i = (a + i * b modulo 2^32) * (32 * words) >> 32,  i = 0 to hashes - 1
//
// with mix of count_sketch.h. What passes without being in the union is a zero that nobody sent.
#pragma once

#include <cstdint>
#include <span>

namespace sumwire::gpu {

struct BloomShape {
    std::uint32_t words = 0;  // 0: the bitmap is smaller, or hardly larger
    std::uint32_t hashes = 0;
    std::uint64_t seed = 0;

    bool worthwhile() const { return words != 0; }
};

// For so many expected elements of `count`. At their true number, few enough others pass that their
// cost in a sketch is a tenth of the filter's.
BloomShape bloom_shape(std::uint32_t expected, std::uint32_t count, std::uint64_t seed);

// Others that pass, about, if as many as expected are in.
std::uint32_t false_positives(std::uint32_t expected, std::uint32_t count);

// Overwrites the filter, of shape.words.
void fill_bloom(const BloomShape& shape, std::span<const std::uint32_t> index,
                std::span<std::uint32_t> filter);

// Which of `count` elements pass.
void bloom_candidates(const BloomShape& shape, std::span<const std::uint32_t> filter,
                      std::uint32_t count, std::span<std::uint32_t> index);

}  // namespace sumwire::gpu
