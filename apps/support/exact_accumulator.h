// Sums finite floats without any error: a two's-complement fixed-point number that spans every
// float's bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sumwire::apps {

class ExactAccumulator {
  public:
    // `value` is finite; |times| is below 2^32. Room for 2^30 of the largest products.
    void add(float value, std::int64_t times = 1);

    // The nearest float to sum / divisor, ties to even; zero is +0.
    float rounded(std::uint32_t divisor = 1) const;
    // |sum| as a double, within a unit in the last place.
    double magnitude() const;

  private:
    static constexpr std::size_t limbs = 6;
    using Number = std::array<std::uint64_t, limbs>;

    bool negative() const { return (sum_.back() >> 63U) != 0; }
    Number absolute() const;

    Number sum_{};  // in units of 2^-149, least significant limb first
};

}  // namespace sumwire::apps
