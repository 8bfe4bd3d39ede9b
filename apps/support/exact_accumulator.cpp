#include "apps/support/exact_accumulator.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sumwire::apps {
namespace {

using Wide = unsigned __int128;

constexpr int lowest_exponent = -149;

// Adds digit * 2^(64 * limb), carrying on.
template <typename Number>
void add_at(Number& number, std::size_t limb, Wide digit) {
    for (; limb < number.size() && digit != 0; ++limb) {
        digit += number[limb];
        number[limb] = static_cast<std::uint64_t>(digit);
        digit >>= 64U;
    }
}

template <typename Number>
void negate(Number& number) {
    for (std::uint64_t& limb : number)
        limb = ~limb;
    add_at(number, 0, 1);
}

}  // namespace

void ExactAccumulator::add(float value, std::int64_t times) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t exponent = (bits >> 23U) & 0xff;
    const std::uint64_t fraction = bits & 0x7fffff;
    const std::uint64_t significand = exponent == 0 ? fraction : fraction | 0x800000;
    const std::uint32_t position = exponent == 0 ? 0 : exponent - 1;
    if (significand == 0 || times == 0) return;

    const bool subtract = ((bits >> 31U) != 0) != (times < 0);
    const Wide product = significand * static_cast<std::uint64_t>(times < 0 ? -times : times);
    Number term{};
    add_at(term, position / 64, product << (position % 64));
    if (subtract) negate(term);
    Wide carry = 0;
    for (std::size_t i = 0; i < limbs; ++i) {
        carry += static_cast<Wide>(sum_[i]) + term[i];
        sum_[i] = static_cast<std::uint64_t>(carry);
        carry >>= 64U;
    }
}

ExactAccumulator::Number ExactAccumulator::absolute() const {
    Number number = sum_;
    if (negative()) negate(number);
    return number;
}

float ExactAccumulator::rounded(std::uint32_t divisor) const {
    // Two bits below the smallest float's: then a tie can be told from its neighbours after division.
    constexpr unsigned guard = 2;
    Number quotient{};
    Wide remainder = 0;
    const Number dividend = absolute();
    for (std::size_t i = limbs; i-- > 0;) {
        const std::uint64_t below = i == 0 ? 0 : dividend[i - 1] >> (64 - guard);
        const std::uint64_t limb = (dividend[i] << guard) | below;
        const Wide part = (remainder << 64U) | limb;
        quotient[i] = static_cast<std::uint64_t>(part / divisor);
        remainder = part % divisor;
    }

    int width = 0;
    for (std::size_t i = 0; i < limbs; ++i)
        if (quotient[i] != 0) width = static_cast<int>(64 * i) + std::bit_width(quotient[i]);
    const int dropped = std::max(width - 24, static_cast<int>(guard));
    const auto bit = [&](int at) {
        return (quotient[static_cast<std::size_t>(at) / 64] >> (at % 64)) & 1U;
    };
    std::uint32_t significand = 0;
    for (int at = width - 1; at >= dropped; --at)
        significand = 2 * significand + static_cast<std::uint32_t>(bit(at));
    const bool half = bit(dropped - 1) != 0;
    bool more = remainder != 0;
    for (int at = 0; at < dropped - 1; ++at)
        more = more || bit(at) != 0;
    if (half && (more || significand % 2 != 0)) ++significand;

    const float magnitude_rounded =
        std::ldexp(static_cast<float>(significand),
                   dropped - static_cast<int>(guard) + lowest_exponent);
    return negative() ? -magnitude_rounded : magnitude_rounded;
}

double ExactAccumulator::magnitude() const {
    const Number number = absolute();
    double value = 0;
    for (std::size_t i = limbs; i-- > 0;)
        value += std::ldexp(static_cast<double>(number[i]), static_cast<int>(64 * i) + lowest_exponent);
    return value;
}

}  // namespace sumwire::apps
