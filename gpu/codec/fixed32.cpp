#include "gpu/codec/fixed32.h"

#include <algorithm>
#include <bit>

#include "gpu/codec/exact.h"
#include "gpu/codec/float_bits.h"

namespace sumwire::gpu {

namespace {

unsigned fraction_bits(const Fixed32Scale& scale) {
    return 30 - carry_bits(scale.world_size);
}

int scale_exponent(const Fixed32Scale& scale) {
    return std::max<int>(scale.code, 1);
}

// significand * 2^shift to nearest, ties to even; shift at most 6.
std::uint32_t shift_rounding(std::uint32_t significand, int shift) {
    if (shift >= 0) return significand << shift;
    // A significand of 24 bits is less than half of 2^25.
    const int drop = std::min(-shift, 25);
    const std::uint32_t kept = significand >> drop;
    const std::uint32_t rest = significand & ((std::uint32_t{1} << drop) - 1);
    const std::uint32_t half = std::uint32_t{1} << (drop - 1);
    return kept + static_cast<std::uint32_t>(rest + (kept & 1) > half);
}

}  // namespace

std::uint8_t fixed32_code(std::span<const float> values) {
    std::uint32_t largest = 0;
    for (const float value : values) {
        largest = std::max(largest, std::bit_cast<std::uint32_t>(value) & ~sign_bit);
    }
    return static_cast<std::uint8_t>(largest >> 23);
}

bool encode_fixed32(std::span<const float> values, Fixed32Scale scale,
                    std::span<std::uint32_t> words) {
    const int base = scale_exponent(scale) + 24 - static_cast<int>(fraction_bits(scale));
    unsigned largest = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const FloatParts parts = take_apart(values[i]);
        largest = std::max(largest, parts.exponent);
        const int shift = std::min(static_cast<int>(parts.scale()) - base, 6);
        const std::uint32_t magnitude = shift_rounding(parts.significand, shift);
        words[i] = parts.negative ? 0 - magnitude : magnitude;
    }
    return largest <= scale.code;
}

bool decode_fixed32(std::span<const std::uint32_t> words, Fixed32Scale scale, std::uint32_t divisor,
                    std::span<float> results) {
    const unsigned bits = fraction_bits(scale);
    const int exponent = scale_exponent(scale) - 126 - static_cast<int>(bits);
    std::uint32_t largest = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const bool negative = (words[i] & sign_bit) != 0;
        const std::uint32_t magnitude = negative ? 0 - words[i] : words[i];
        largest = std::max(largest, magnitude);
        results[i] = round_quotient(negative, {magnitude, exponent, false}, divisor);
    }
    return largest <= scale.world_size << bits;
}

}  // namespace sumwire::gpu
