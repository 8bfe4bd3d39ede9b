#include "gpu/codec/half_floats.h"

#include <algorithm>
#include <bit>

#include "gpu/codec/float_bits.h"

namespace sumwire::gpu {

namespace {

constexpr std::uint32_t f16_sign = 0x8000;
constexpr std::uint32_t f16_infinity = 0x7c00;
constexpr std::uint32_t f16_nan = 0x7e00;
constexpr std::uint32_t bf16_nan = 0x7fc0;
// Between the exponents' biases.
constexpr std::uint32_t rebias = (127 - 15) << 23;

float widen_one_f16(std::uint16_t half) {
    const std::uint32_t magnitude = half & ~f16_sign & 0xffff;
    const std::uint32_t sign = (half & f16_sign) << 16;
    // Scaling by a power of two turns subnormals into normal numbers.
    const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
    const std::uint32_t finite = std::bit_cast<std::uint32_t>(scaled);
    const std::uint32_t special = magnitude << 13 | infinity_bits;
    return std::bit_cast<float>((magnitude >= f16_infinity ? special : finite) | sign);
}

std::uint16_t narrow_one_f16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & ~sign_bit;
    const std::uint32_t sign = bits >> 16 & f16_sign;
    // The unit of floats from 0.5 on is that of the subnormals.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(shifted) - (126u << 23);
    const std::uint32_t normal = (magnitude - rebias + 0xfff + (magnitude >> 13 & 1)) >> 13;
    std::uint32_t half = magnitude < (113u << 23) ? subnormal : normal;
    half = magnitude >= 0x477f'f000 ? f16_infinity : half;
    half = magnitude > infinity_bits ? f16_nan : half;
    return static_cast<std::uint16_t>(half | sign);
}

std::uint16_t narrow_one_bf16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const bool is_nan = (bits & ~sign_bit) > infinity_bits;
    return static_cast<std::uint16_t>(is_nan ? bf16_nan : rounded);
}

}  // namespace

void widen_bf16(std::span<const std::uint16_t> narrow, std::span<float> wide) {
    std::ranges::transform(narrow, wide.begin(), [](std::uint16_t half) {
        return std::bit_cast<float>(std::uint32_t{half} << 16);
    });
}

void widen_f16(std::span<const std::uint16_t> narrow, std::span<float> wide) {
    std::ranges::transform(narrow, wide.begin(), widen_one_f16);
}

void narrow_bf16(std::span<const float> wide, std::span<std::uint16_t> narrow) {
    std::ranges::transform(wide, narrow.begin(), narrow_one_bf16);
}

void narrow_f16(std::span<const float> wide, std::span<std::uint16_t> narrow) {
    std::ranges::transform(wide, narrow.begin(), narrow_one_f16);
}

}  // namespace sumwire::gpu
