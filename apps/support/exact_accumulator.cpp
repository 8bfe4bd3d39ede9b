#include "apps/support/exact_accumulator.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace sumwire::apps {
namespace {

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

constexpr int wide_bits = 128;
constexpr int lowest_exponent = -149;

// A finite float is significand * 2^(position - 149), negative or not.
struct Parts {
    std::uint64_t significand;
    unsigned position;
    bool negative;
};

Parts take_apart(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const unsigned exponent = (bits >> 23U) & 0xffU;
    const std::uint32_t fraction = bits & 0x7fffffU;
    return {exponent == 0 ? fraction : fraction | 0x800000U, exponent == 0 ? 0 : exponent - 1,
            (bits >> 31U) != 0};
}

int width_of(Wide value) {
    const auto high = static_cast<std::uint64_t>(value >> 64U);
    return high != 0 ? 64 + std::bit_width(high)
                     : std::bit_width(static_cast<std::uint64_t>(value));
}

// The number nearest to magnitude * 2^exponent / divisor, the magnitude being a little more than
// its integer if `more` says so; that takes an integer of full width.
std::uint32_t round_quotient(bool negative, Wide magnitude, int exponent, bool more,
                             std::uint32_t divisor, const FloatFormat& format) {
    if (magnitude == 0) return 0;
    // At full width the quotient keeps 96 bits at least, far more than any format has.
    const int shift = wide_bits - width_of(magnitude);
    magnitude <<= shift;
    exponent -= shift;
    Wide quotient = magnitude;
    if (divisor != 1) {
        quotient = magnitude / divisor;
        more = more || quotient * divisor != magnitude;
    }

    const int width = width_of(quotient);
    const int dropped =
        std::max(width - format.significand_bits, format.lowest_exponent - exponent);
    const int fraction_bits = format.significand_bits - 1;
    std::uint32_t bits = 0;
    if (dropped <= width) {
        const auto kept =
            dropped == wide_bits ? 0 : static_cast<std::uint32_t>(quotient >> dropped);
        const Wide half = Wide{1} << (dropped - 1);
        const Wide rest = quotient & (half | (half - 1));
        const bool up = rest > half || (rest == half && (more || kept % 2 != 0));
        // The significand's leading bit, which subnormals lack, counts as one step of the exponent;
        // so does a carry out of it.
        const auto steps = static_cast<std::uint32_t>(exponent + dropped - format.lowest_exponent);
        const std::uint32_t infinity = ((1U << format.exponent_bits) - 1U) << fraction_bits;
        // Beyond it, the shift would leave the word.
        bits = steps >> format.exponent_bits != 0
                   ? infinity
                   : std::min(infinity, (steps << fraction_bits) + kept + (up ? 1 : 0));
    }
    const std::uint32_t sign = 1U << (format.exponent_bits + fraction_bits);
    return bits | (negative ? sign : 0);
}

// Adds digit * 2^(64 * limb), modulo the number's width.
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

void ExactAccumulator::add(float value) {
    const Parts parts = take_apart(value);
    // -(-sum + term) = sum - term
    if (parts.negative) negate(sum_);
    add_at(sum_, parts.position / 64, Wide{parts.significand} << (parts.position % 64));
    if (parts.negative) negate(sum_);
}

std::uint32_t ExactAccumulator::rounded_bits(std::uint32_t divisor,
                                             const FloatFormat& format) const {
    const bool negative = (sum_.back() >> 63U) != 0;
    auto magnitude = sum_;
    if (negative) negate(magnitude);

    // The 128 bits from the highest one that is set, and whether there is anything below.
    std::size_t top = limbs - 1;
    while (top > 1 && magnitude[top] == 0)
        --top;
    const int shift = std::countl_zero(magnitude[top]);
    Wide leading = (Wide{magnitude[top]} << 64U) | magnitude[top - 1];
    const int exponent = lowest_exponent + 64 * (static_cast<int>(top) - 1);
    if (top == 1) return round_quotient(negative, leading, exponent, false, divisor, format);
    std::uint64_t below = magnitude[top - 2];
    if (shift != 0) {
        leading = (leading << shift) | (below >> (64 - shift));
        below <<= shift;
    }
    const bool more = below != 0 || std::any_of(magnitude.begin(), magnitude.begin() + (top - 2),
                                                [](std::uint64_t limb) { return limb != 0; });
    return round_quotient(negative, leading, exponent - shift, more, divisor, format);
}

float ExactAccumulator::rounded(std::uint32_t divisor) const {
    return std::bit_cast<float>(rounded_bits(divisor, binary32));
}

float exact_sum(std::span<const float> values, std::uint32_t divisor) {
    return std::bit_cast<float>(exact_sum_bits(values, divisor, binary32));
}

std::uint32_t exact_sum_bits(std::span<const float> values, std::uint32_t divisor,
                             const FloatFormat& format) {
    unsigned lowest = std::numeric_limits<unsigned>::max();
    unsigned highest = 0;
    for (const float value : values) {
        const Parts parts = take_apart(value);
        if (parts.significand == 0) continue;
        lowest = std::min(lowest, parts.position);
        highest = std::max(highest, parts.position);
    }
    if (lowest > highest) return 0;

    // 24 bits at 64 positions, and 2^32 of them, leave the sign its place in 128 bits.
    constexpr unsigned narrow_span = 64;
    if (highest - lowest > narrow_span) {
        ExactAccumulator sum;
        for (const float value : values)
            sum.add(value);
        return sum.rounded_bits(divisor, format);
    }
    SignedWide sum = 0;
    for (const float value : values) {
        const Parts parts = take_apart(value);
        if (parts.significand == 0) continue;
        const auto term =
            static_cast<SignedWide>(Wide{parts.significand} << (parts.position - lowest));
        sum += parts.negative ? -term : term;
    }
    const bool negative = sum < 0;
    return round_quotient(negative, static_cast<Wide>(negative ? -sum : sum),
                          static_cast<int>(lowest) + lowest_exponent, false, divisor, format);
}

}  // namespace sumwire::apps
