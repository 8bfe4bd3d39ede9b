#include "gpu/codec/bitmap.h"

#include <algorithm>
#include <cstddef>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace sumwire::gpu {

namespace {

// Bits of a float that tell it from zero.
constexpr std::uint32_t significant_bits(MinusZero minus_zero) {
    return minus_zero == MinusZero::is_value ? 0xffff'ffffu : 0x7fff'ffffu;
}

std::uint32_t block_mask(const float* values, std::uint32_t elements, std::uint32_t significant) {
    std::uint32_t mask = 0;
    for (std::uint32_t i = 0; i < elements; ++i) {
        const bool set = (std::bit_cast<std::uint32_t>(values[i]) & significant) != 0;
        mask |= static_cast<std::uint32_t>(set) << i;
    }
    return mask;
}

#ifdef __SSE2__
std::uint32_t full_block_mask(const float* values, std::uint32_t significant) {
    const __m128i zero = _mm_setzero_si128();
    const __m128i keep = _mm_set1_epi32(static_cast<int>(significant));
    const auto zeros = [&](std::size_t i) {
        const auto* at = reinterpret_cast<const __m128i*>(values + i);
        return _mm_cmpeq_epi32(_mm_and_si128(_mm_loadu_si128(at), keep), zero);
    };
    const auto half = [&](std::size_t i) {
        const __m128i low = _mm_packs_epi32(zeros(i), zeros(i + 4));
        const __m128i high = _mm_packs_epi32(zeros(i + 8), zeros(i + 12));
        return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
    };
    return ~(half(0) | half(16) << 16);
}
#else
std::uint32_t full_block_mask(const float* values, std::uint32_t significant) {
    return block_mask(values, block_elements, significant);
}
#endif

}  // namespace

void index_values(std::span<const float> values, MinusZero minus_zero,
                  std::span<std::uint32_t> index) {
    const std::uint32_t significant = significant_bits(minus_zero);
    const auto count = static_cast<std::uint32_t>(values.size());
    const std::uint32_t full = count / block_elements;
    for (std::uint32_t b = 0; b < full; ++b) {
        index[b] = full_block_mask(values.data() + b * block_elements, significant);
    }
    if (const std::uint32_t rest = count % block_elements; rest != 0) {
        index[full] = block_mask(values.data() + full * block_elements, rest, significant);
    }
}

void index_all(std::uint32_t count, std::span<std::uint32_t> index) {
    std::ranges::fill(index, ~std::uint32_t{0});
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
    for (std::uint32_t b = 0; b < index.size(); ++b) {
        for_each_bit(index[b],
                     [&](std::uint32_t i) { positions[next++] = b * block_elements + i; });
    }
}

void gather(std::span<const float> values, std::span<const std::uint32_t> index,
            std::span<float> packed) {
    float* out = packed.data();
    for (std::size_t b = 0; b < index.size(); ++b) {
        const float* const block = values.data() + b * block_elements;
        if (index[b] == ~std::uint32_t{0}) {
            out = std::copy_n(block, block_elements, out);
        } else {
            for_each_bit(index[b], [&](std::uint32_t i) { *out++ = block[i]; });
        }
    }
}

void scatter(std::span<const float> packed, std::span<const std::uint32_t> index,
             std::span<float> values) {
    const float* in = packed.data();
    for (std::size_t b = 0; b < index.size(); ++b) {
        float* const block = values.data() + b * block_elements;
        if (index[b] == ~std::uint32_t{0}) {
            std::copy_n(in, block_elements, block);
            in += block_elements;
            continue;
        }
        const std::size_t elements =
            std::min<std::size_t>(block_elements, values.size() - b * block_elements);
        std::fill_n(block, elements, 0.0f);
        for_each_bit(index[b], [&](std::uint32_t i) { block[i] = *in++; });
    }
}

}  // namespace sumwire::gpu
