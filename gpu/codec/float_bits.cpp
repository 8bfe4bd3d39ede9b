#include "gpu/codec/float_bits.h"

namespace sumwire::gpu {

namespace {

// The significand has its highest bit set.
std::uint32_t round_normalised(Magnitude m) {
    const int biased = m.exponent + 63 + 127;
    if (biased > 254) return infinity_bits;
    // Bits below the last one that a float of this exponent has.
    const int drop = 64 - 24 + std::max(0, 1 - biased);
    if (drop > 64) return 0;
    const std::uint64_t kept = drop == 64 ? 0 : m.significand >> drop;
    const std::uint64_t rest = m.significand << (64 - drop);
    constexpr std::uint64_t half = std::uint64_t{1} << 63;
    const bool up = rest > half || (rest == half && (m.sticky || (kept & 1) != 0));
    // A carry out of the significand runs into the exponent, which is what rounding up means.
    return (static_cast<std::uint32_t>(std::max(biased, 1) - 1) << 23) +
           static_cast<std::uint32_t>(kept) + static_cast<std::uint32_t>(up);
}

Magnitude normalise(Magnitude m) {
    const int shift = std::countl_zero(m.significand);
    return {m.significand << shift, m.exponent - shift, m.sticky};
}

}  // namespace

float round_quotient(bool negative, Magnitude magnitude, std::uint32_t divisor) {
    if (magnitude.significand == 0) return 0.0f;
    Magnitude m = normalise(magnitude);
    if (divisor != 1) {
        const std::uint64_t quotient = m.significand / divisor;
        m.sticky = m.sticky || quotient * divisor != m.significand;
        m.significand = quotient;
        m = normalise(m);
    }
    return std::bit_cast<float>(round_normalised(m) | (negative ? sign_bit : 0));
}

float divide(float value, std::uint32_t divisor) {
    // Neither the value nor the quotient is subnormal: the processor's own division.
    constexpr unsigned safe_exponent = 12;
    const FloatParts parts = take_apart(value);
    if (parts.exponent >= safe_exponent) return value / static_cast<float>(divisor);
    if (parts.significand == 0) return value;
    return round_quotient(
        parts.negative, {parts.significand, static_cast<int>(parts.scale()) - 150, false}, divisor);
}

}  // namespace sumwire::gpu
