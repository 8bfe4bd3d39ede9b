// Sums of floats without any error, in integers alone: neither the rounding mode nor a flush of
// subnormals changes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sumwire::apps {

// A binary floating-point format of IEEE 754's kind.
struct FloatFormat {
    int significand_bits;  // with the leading one
    int exponent_bits;
    int lowest_exponent;  // of the least subnormal's power of two
};

inline constexpr FloatFormat binary32{24, 8, -149};
inline constexpr FloatFormat binary16{11, 5, -24};
inline constexpr FloatFormat bfloat16{8, 8, -133};

// A two's-complement fixed-point number that spans every float's bits.
class ExactAccumulator {
  public:
    // The value is finite. Room for 2^32 of the largest.
    void add(float value);

    // The float nearest to sum / divisor, ties to even; infinity above the largest float. A sum of
    // zero is +0; a quotient too small for any float is a zero of the sum's sign.
    float rounded(std::uint32_t divisor) const;
    // The same of another format: its bits.
    std::uint32_t rounded_bits(std::uint32_t divisor, const FloatFormat& format) const;

  private:
    static constexpr std::size_t limbs = 5;

    std::array<std::uint64_t, limbs> sum_{};  // in units of 2^-149, least significant limb first
};

// What an accumulator would make of these finite values, faster where they are of similar size.
float exact_sum(std::span<const float> values, std::uint32_t divisor);

// The same, rounded once to a number of that format: its bits.
std::uint32_t exact_sum_bits(std::span<const float> values, std::uint32_t divisor,
                             const FloatFormat& format);

}  // namespace sumwire::apps
