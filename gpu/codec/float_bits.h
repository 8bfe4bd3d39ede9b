// Binary32 taken apart and put together in integers, so that neither the rounding mode nor a flush
// of subnormals, which belong to the process, can change a result.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "gpu/codec/rounding.h"

namespace sumwire::gpu {

inline constexpr std::uint32_t quiet_nan_bits = 0x7fc0'0000u;
inline constexpr std::uint32_t infinity_bits = 0x7f80'0000u;
inline constexpr std::uint32_t sign_bit = 0x8000'0000u;
inline constexpr unsigned non_finite_exponent = 255;

// A finite value is significand * 2^(scale - 150), scale = max(exponent, 1), and negative or not.
struct FloatParts {
    unsigned exponent;          // biased, 0 to 255
    std::uint32_t significand;  // with the implicit bit; of a non-finite value without it
    bool negative;

    bool finite() const { return exponent != non_finite_exponent; }
    unsigned scale() const { return std::max(exponent, 1u); }
};

inline FloatParts take_apart(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const unsigned exponent = bits >> 23 & 0xff;
    const bool implicit = exponent != 0 && exponent != non_finite_exponent;
    return {exponent, (bits & 0x7f'ffffu) | static_cast<std::uint32_t>(implicit) << 23,
            (bits & sign_bit) != 0};
}

// A real number: significand * 2^exponent, plus, if `sticky`, something between nothing and one
// unit of the significand, which then is at least 2^30.
struct Magnitude {
    std::uint64_t significand = 0;
    int exponent = 0;
    bool sticky = false;
};

// A negative or positive magnitude, divided by `divisor` (1 to 1024), rounded once; to nearest:
// beyond the largest float infinity. Zero is +0.
float round_quotient(bool negative, Magnitude magnitude, std::uint32_t divisor, Rounding rounding);

}  // namespace sumwire::gpu
