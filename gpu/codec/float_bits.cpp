#include "gpu/codec/float_bits.h"

namespace sumwire::gpu {

namespace {

constexpr std::uint32_t largest_finite_bits = infinity_bits - 1;

// The significand has its highest bit set.
std::uint32_t round_normalised(Magnitude m, Rounding rounding) {
    const bool odd = rounding == Rounding::odd;
    const int biased = m.exponent + 63 + 127;
    if (biased > 254) return odd ? largest_finite_bits : infinity_bits;
    // Bits below the last one that a float of this exponent has.
    const int drop = 64 - 24 + std::max(0, 1 - biased);
    if (drop > 64) return odd ? 1 : 0;
    const std::uint64_t kept = drop == 64 ? 0 : m.significand >> drop;
    const std::uint64_t rest = m.significand << (64 - drop);
    constexpr std::uint64_t half = std::uint64_t{1} << 63;
    const bool up = rest > half || (rest == half && (m.sticky || (kept & 1) != 0));
    const bool inexact = rest != 0 || m.sticky;
    // A carry out of the significand runs into the exponent, which is what rounding up means.
    const auto truncated = (static_cast<std::uint32_t>(std::max(biased, 1) - 1) << 23) +
                           static_cast<std::uint32_t>(kept);
    return odd ? truncated | static_cast<std::uint32_t>(inexact)
               : truncated + static_cast<std::uint32_t>(up);
}

Magnitude normalise(Magnitude m) {
    const int shift = std::countl_zero(m.significand);
    return {m.significand << shift, m.exponent - shift, m.sticky};
}

}  // namespace

float round_quotient(bool negative, Magnitude magnitude, std::uint32_t divisor, Rounding rounding) {
    if (magnitude.significand == 0) return 0.0f;
    Magnitude m = normalise(magnitude);
    if (divisor != 1) {
        const std::uint64_t quotient = m.significand / divisor;
        m.sticky = m.sticky || quotient * divisor != m.significand;
        m.significand = quotient;
        m = normalise(m);
    }
    return std::bit_cast<float>(round_normalised(m, rounding) | (negative ? sign_bit : 0));
}

}  // namespace sumwire::gpu
