#include <algorithm>

#include "gpu/codec/exact.h"
#include "gpu/codec/exact_fields.h"
#include "gpu/codec/float_bits.h"

namespace sumwire::gpu {

namespace {

// An integer of 24 bits and sign, times a power of two; yields its binary digits from the lowest
// up.
class Digits {
  public:
    Digits(std::int32_t significand, int shift) : significand_(significand), shift_(shift) {}

    // The next 32 digits; an infinite number of sign digits follow the highest.
    std::uint32_t peek() const {
        if (shift_ >= 32) return 0;
        if (shift_ >= 0) return static_cast<std::uint32_t>(significand_) << shift_;
        return static_cast<std::uint32_t>(significand_ >> std::min(-shift_, 31));
    }
    void advance(unsigned bits) { shift_ -= static_cast<int>(bits); }

  private:
    std::int32_t significand_;
    int shift_;
};

std::uint32_t infinity_counts(const FloatParts& parts) {
    constexpr std::uint32_t positive = 1;
    constexpr std::uint32_t negative = 1 << 16;
    if (parts.finite()) return 0;
    if (parts.significand != 0) return positive + negative;
    return parts.negative ? negative : positive;
}

// Whether the value is a multiple of the unit, and not too large.
bool fits(const FloatParts& parts, int shift, const BlockShape& shape) {
    if (!parts.finite()) return shape.flagged;
    if (parts.significand == 0) return true;
    if (shift >= 0) return static_cast<unsigned>(shift) + 24 <= shape.bits;
    return shift > -24 && low_bits(parts.significand, static_cast<unsigned>(-shift)) == 0 &&
           parts.scale() + 24 <= shape.low + shape.bits;
}

}  // namespace

bool encode_block(const float* block, std::uint32_t elements, const BlockShape& shape,
                  const ExactLayout& layout, std::span<std::uint32_t> words) {
    std::ranges::fill(words, 0);
    bool good = true;
    FieldCursor cursor(layout.carry());
    for_each_bit(elements, [&](std::uint32_t i) {
        const FloatParts parts = take_apart(block[i]);
        const int shift = static_cast<int>(parts.scale()) - static_cast<int>(shape.low);
        good &= fits(parts, shift, shape);
        const auto magnitude = static_cast<std::int32_t>(parts.finite() ? parts.significand : 0);
        Digits digits(parts.negative ? -magnitude : magnitude, shift);
        cursor.place(shape.bits + 1, [&](const Piece& piece) {
            const std::uint32_t next = digits.peek();
            words[piece.word] += (piece.last ? next : low_bits(next, piece.bits)) << piece.shift;
            digits.advance(piece.bits);
        });
    });
    if (shape.flagged) {
        std::uint32_t* counts = words.data() + cursor.words();
        for_each_bit(elements,
                     [&](std::uint32_t i) { *counts++ = infinity_counts(take_apart(block[i])); });
    }
    return good;
}

}  // namespace sumwire::gpu
