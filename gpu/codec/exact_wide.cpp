#include "gpu/codec/exact_wide.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "gpu/codec/float_bits.h"

namespace sumwire::gpu {

namespace {

std::uint32_t low_bits(std::uint32_t word, unsigned bits) {
    return word & static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
}

// Two's complement in limbs of 32 bits, wide enough for every sum.
class WideSum {
  public:
    void add(std::uint32_t digit, unsigned offset) {
        add_shifted(std::uint64_t{digit} << offset % 32, offset / 32);
    }
    void subtract(std::uint32_t digit, unsigned offset) {
        negate(limbs_);
        add(digit, offset);
        negate(limbs_);
    }

    bool negative() const { return limbs_.back() >> 31 != 0; }

    Magnitude magnitude() const {
        const Limbs m = absolute();
        const unsigned length = bit_length(m);
        if (length <= 64) return {std::uint64_t{m[1]} << 32 | m[0], 0, false};
        const unsigned dropped = length - 64;
        Magnitude result{0, static_cast<int>(dropped), false};
        for (unsigned i = 0; i < 64; ++i) {
            const unsigned at = dropped + i;
            result.significand |= std::uint64_t{m[at / 32] >> (at % 32) & 1} << i;
        }
        for (unsigned i = 0; i < dropped / 32; ++i)
            result.sticky |= m[i] != 0;
        result.sticky |= low_bits(m[dropped / 32], dropped % 32) != 0;
        return result;
    }

    // Whether `ranks` integers of `bits` can sum up to this.
    bool possible(unsigned bits, std::uint32_t ranks) const {
        return bit_length(absolute()) <= bits + carry_bits(ranks);
    }

  private:
    // The highest digit of 32 bits may begin anywhere in the integer.
    static constexpr std::size_t limb_count = (max_field_bits + 1 + 31) / 32 + 2;
    using Limbs = std::array<std::uint32_t, limb_count>;

    void add_shifted(std::uint64_t value, std::size_t limb) {
        std::uint64_t carry = 0;
        for (; limb < limb_count; ++limb) {
            carry += std::uint64_t{limbs_[limb]} + static_cast<std::uint32_t>(value);
            limbs_[limb] = static_cast<std::uint32_t>(carry);
            carry >>= 32;
            value >>= 32;
        }
    }

    static void negate(Limbs& limbs) {
        std::uint64_t carry = 1;
        for (std::uint32_t& limb : limbs) {
            carry += static_cast<std::uint32_t>(~limb);
            limb = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
    }

    Limbs absolute() const {
        Limbs result = limbs_;
        if (negative()) negate(result);
        return result;
    }

    static unsigned bit_length(const Limbs& limbs) {
        for (std::size_t i = limb_count; i-- > 0;) {
            if (limbs[i] != 0) {
                return static_cast<unsigned>(i) * 32 +
                       static_cast<unsigned>(std::bit_width(limbs[i]));
            }
        }
        return 0;
    }

    Limbs limbs_{};
};

std::uint32_t read_digit(const std::uint32_t* words, unsigned width, std::uint32_t element) {
    if (width == 32) return words[element];
    const auto* const bytes = reinterpret_cast<const unsigned char*>(words);
    if (width == 4) return bytes[element % 16] >> (element < 16 ? 0 : 4) & 0xf;
    std::uint32_t digit = 0;
    std::memcpy(&digit, bytes + element * width / 8, width / 8);
    return digit;
}

bool apply_infinities(const std::uint32_t* counts, std::uint32_t elements, std::uint32_t world_size,
                      float* results) {
    std::uint32_t most = 0;
    for (std::uint32_t i = 0; i < elements; ++i) {
        const std::uint32_t positive = counts[i] & 0xffff;
        const std::uint32_t negative = counts[i] >> 16;
        most = std::max({most, positive, negative});
        if (positive != 0 && negative != 0) {
            results[i] = std::bit_cast<float>(quiet_nan_bits);
        } else if (positive != 0 || negative != 0) {
            results[i] = std::bit_cast<float>(infinity_bits | (negative != 0 ? sign_bit : 0));
        }
    }
    return most <= world_size;
}

}  // namespace

bool decode_wide_block(const std::uint32_t* words, std::uint32_t elements, const BlockShape& shape,
                       const ExactLayout& layout, std::uint32_t divisor, Rounding rounding,
                       float* results) {
    const Digits& digits = layout.digits(shape);
    bool possible = true;
    for (std::uint32_t i = 0; i < elements; ++i) {
        WideSum sum;
        const std::uint32_t* place = words;
        for (unsigned k = 0; k < digits.count; ++k) {
            const auto [offset, width] = digits.digits[k];
            sum.add(read_digit(place, width, i), offset);
            place += digit_words(width, elements);
        }
        sum.subtract(layout.world_size(), shape.bits);
        possible &= sum.possible(shape.bits, layout.world_size());
        Magnitude magnitude = sum.magnitude();
        magnitude.exponent += static_cast<int>(shape.low) - 150;
        results[i] = round_quotient(sum.negative(), magnitude, divisor, rounding);
    }
    if (!possible) return false;
    return !shape.flagged || apply_infinities(words + digits.words(elements), elements,
                                              layout.world_size(), results);
}

}  // namespace sumwire::gpu
