// Sums of floats without any error, in integers alone: neither the rounding mode nor a flush of
// subnormals changes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sumwire::apps {

// A two's-complement fixed-point number that spans every float's bits.
class ExactAccumulator {
  public:
    // The value is finite. Room for 2^32 of the largest.
    void add(float value);

    // The float nearest to sum / divisor, ties to even; infinity above the largest float. A sum of
    // zero is +0; a quotient too small for any float is a zero of the sum's sign.
    float rounded(std::uint32_t divisor) const;

  private:
    static constexpr std::size_t limbs = 5;

    std::array<std::uint64_t, limbs> sum_{};  // in units of 2^-149, least significant limb first
};

// What an accumulator would make of these finite values, faster where they are of similar size.
float exact_sum(std::span<const float> values, std::uint32_t divisor);

}  // namespace sumwire::apps
