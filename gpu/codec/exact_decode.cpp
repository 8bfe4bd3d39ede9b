#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "gpu/codec/exact.h"
#include "gpu/codec/exact_fields.h"
#include "gpu/codec/float_bits.h"

namespace sumwire::gpu {

namespace {

// An integer as the sum of its pieces' sums, in 64 bits.
class NarrowSum {
  public:
    void add(std::uint32_t piece, unsigned offset) { sum_ += std::int64_t{piece} << offset; }
    void add_last(std::int32_t piece, unsigned offset) { sum_ += std::int64_t{piece} << offset; }

    bool negative() const { return sum_ < 0; }
    Magnitude magnitude() const { return {significand(), 0, false}; }
    // Whether `ranks` integers of `bits` can sum up to this.
    bool possible(unsigned bits, std::uint32_t ranks) const {
        return significand() <= ((std::uint64_t{1} << bits) - 1) * ranks;
    }

  private:
    std::uint64_t significand() const {
        const auto pattern = static_cast<std::uint64_t>(sum_);
        return negative() ? 0 - pattern : pattern;
    }

    std::int64_t sum_ = 0;
};

// Bits, sign and carry with which no NarrowSum overflows, whatever the words.
constexpr unsigned narrow_bits = 62;

// The same for every width: two's complement in limbs of 32 bits.
class WideSum {
  public:
    void add(std::uint32_t piece, unsigned offset) { add_limbs(piece, 0, offset); }
    void add_last(std::int32_t piece, unsigned offset) {
        add_limbs(static_cast<std::uint32_t>(piece), piece < 0 ? ~std::uint32_t{0} : 0, offset);
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

    bool possible(unsigned bits, std::uint32_t ranks) const {
        return bit_length(absolute()) <= bits + carry_bits(ranks);
    }

  private:
    static constexpr std::size_t limb_count = (max_field_bits + 1 + 10 + 31) / 32 + 2;
    using Limbs = std::array<std::uint32_t, limb_count>;

    void add_limbs(std::uint32_t low, std::uint32_t extension, unsigned offset) {
        const std::uint64_t shifted = (std::uint64_t{extension} << 32 | low) << (offset % 32);
        std::uint64_t carry = 0;
        for (std::size_t i = offset / 32, n = 0; i < limb_count; ++i, ++n) {
            const std::uint32_t digit = n == 0   ? static_cast<std::uint32_t>(shifted)
                                        : n == 1 ? static_cast<std::uint32_t>(shifted >> 32)
                                                 : extension;
            carry += std::uint64_t{limbs_[i]} + digit;
            limbs_[i] = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
    }

    Limbs absolute() const {
        if (!negative()) return limbs_;
        Limbs result{};
        std::uint64_t carry = 1;
        for (std::size_t i = 0; i < limb_count; ++i) {
            carry += static_cast<std::uint32_t>(~limbs_[i]);
            result[i] = static_cast<std::uint32_t>(carry);
            carry >>= 32;
        }
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

// Takes the pieces out of a block's words, from the lowest upwards.
class FieldReader {
  public:
    FieldReader(std::span<const std::uint32_t> words, unsigned carry)
        : words_(words), cursor_(carry), carry_(carry) {}

    template <typename Sum>
    Sum read(unsigned bits) {
        Sum sum;
        unsigned offset = 0;
        cursor_.place(bits, [&](const Piece& piece) {
            if (piece.shift == 0) {
                left_over_ |= rest_;
                rest_ = words_[piece.word];
            }
            if (piece.last) {
                const std::int32_t field = sign_extend(rest_ >> piece.shift, piece.bits + carry_);
                rest_ -= static_cast<std::uint32_t>(field) << piece.shift;
                sum.add_last(field, offset);
            } else {
                sum.add(rest_ >> piece.shift, offset);
                rest_ = 0;
            }
            offset += piece.bits;
        });
        return sum;
    }

    std::uint32_t words_read() const { return cursor_.words(); }
    // Whether there was nothing but the fields in the words.
    bool clean() const { return (left_over_ | rest_) == 0; }

  private:
    std::span<const std::uint32_t> words_;
    FieldCursor cursor_;
    unsigned carry_;
    std::uint32_t rest_ = 0;
    std::uint32_t left_over_ = 0;
};

template <typename Sum>
std::optional<std::uint32_t> decode_fields(std::span<const std::uint32_t> words, unsigned elements,
                                           const BlockShape& shape, const ExactLayout& layout,
                                           std::uint32_t divisor, float* results) {
    FieldReader reader(words, layout.carry());
    bool possible = true;
    for (unsigned i = 0; i < elements; ++i) {
        const Sum sum = reader.read<Sum>(shape.bits + 1);
        possible &= sum.possible(shape.bits, layout.world_size());
        Magnitude magnitude = sum.magnitude();
        magnitude.exponent += static_cast<int>(shape.low) - 150;
        results[i] = round_quotient(sum.negative(), magnitude, divisor);
    }
    if (!possible || !reader.clean()) return std::nullopt;
    return reader.words_read();
}

bool apply_infinities(std::span<const std::uint32_t> counts, std::uint32_t world_size,
                      float* results) {
    std::uint32_t most = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
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

bool decode_block(std::span<const std::uint32_t> words, std::uint32_t elements,
                  const BlockShape& shape, const ExactLayout& layout, std::uint32_t divisor,
                  float* results) {
    const bool narrow = shape.bits + 1 + layout.carry() <= narrow_bits;
    const auto decode = narrow ? decode_fields<NarrowSum> : decode_fields<WideSum>;
    const auto read = decode(words, elements, shape, layout, divisor, results);
    if (!read) return false;
    return !shape.flagged || apply_infinities(words.subspan(*read), layout.world_size(), results);
}

}  // namespace sumwire::gpu
