#include "gpu/codec/exact.h"

#include <algorithm>
#include <bit>

#include "gpu/codec/float_bits.h"

namespace sumwire::gpu {

namespace {

// 16, 8 and 4 bits, each or not.
constexpr unsigned tails = 8;

template <typename F>
void for_each_tail_width(unsigned tail, F&& f) {
    for (const unsigned width : {16u, 8u, 4u}) {
        if ((tail & width / 4) != 0) f(width);
    }
}

// Digits of 32 bits, and a tail, for an integer of `bits`.
struct Choice {
    unsigned words = 0;
    unsigned tail = 0;

    unsigned width() const { return 32 * words + 4 * tail; }
};

Choice choose(unsigned bits, unsigned carry) {
    const unsigned word_payload = 32 - carry;
    Choice best{(bits + word_payload - 1) / word_payload, 0};
    for (unsigned tail = 1; tail < tails; ++tail) {
        unsigned payload = 0;
        bool holds_something = true;
        for_each_tail_width(tail, [&](unsigned width) {
            holds_something &= width > carry;
            payload += width - std::min(width, carry);
        });
        if (!holds_something) continue;
        const unsigned rest = bits - std::min(bits, payload);
        const Choice choice{(rest + word_payload - 1) / word_payload, tail};
        if (choice.width() < best.width() ||
            (choice.width() == best.width() && choice.words < best.words)) {
            best = choice;
        }
    }
    return best;
}

Digits digits_of(unsigned bits, unsigned carry) {
    const Choice choice = choose(bits, carry);
    Digits digits;
    unsigned offset = 0;
    const auto add = [&](unsigned width) {
        digits.digits[digits.count++] = {static_cast<std::uint16_t>(offset),
                                         static_cast<std::uint8_t>(width)};
        offset += width - carry;
    };
    for (unsigned i = 0; i < choice.words; ++i)
        add(32);
    for_each_tail_width(choice.tail, add);
    return digits;
}

}  // namespace

unsigned carry_bits(std::uint32_t world_size) {
    return static_cast<unsigned>(std::bit_width(world_size - 1));
}

std::optional<BlockShape> shape_of(BlockRange range) {
    if (range.empty()) return BlockShape{};
    const bool flagged = range.largest == non_finite_exponent;
    const int largest = flagged ? 254 : std::max<int>(range.largest, 1);
    const int low = 255 - range.lowest;
    const int bits = largest + 24 - low;
    if (low < 1 || bits < 1) return std::nullopt;
    return BlockShape{static_cast<std::uint16_t>(low), static_cast<std::uint16_t>(bits), flagged};
}

BlockRange range_of(const float* block, std::uint32_t elements) {
    unsigned largest = 0;
    unsigned low = 255;
    for_each_bit(elements, [&](std::uint32_t i) {
        const FloatParts parts = take_apart(block[i]);
        largest = std::max(largest, parts.exponent);
        // The additional bit is out of a finite value's reach and keeps the count defined.
        const auto zeros =
            static_cast<unsigned>(std::countr_zero(parts.significand | std::uint32_t{1} << 31));
        low = std::min(low, parts.finite() ? parts.scale() + zeros : 255);
    });
    return {static_cast<std::uint8_t>(largest), static_cast<std::uint8_t>(255 - low)};
}

std::uint32_t Digits::words(std::uint32_t elements) const {
    std::uint32_t sum = 0;
    for (unsigned k = 0; k < count; ++k)
        sum += digit_words(digits[k].width, elements);
    return sum;
}

ExactLayout::ExactLayout(std::uint32_t world_size)
    : world_size_(world_size),
      carry_(carry_bits(world_size)),
      digits_(max_field_bits + 1),
      words_((max_field_bits + 1) * (block_elements + 1)) {
    for (unsigned bits = 1; bits <= max_field_bits; ++bits) {
        digits_[bits] = digits_of(bits + 1, carry_);
        for (unsigned n = 1; n <= block_elements; ++n) {
            words_[bits * (block_elements + 1) + n] =
                static_cast<std::uint16_t>(digits_[bits].words(n));
        }
    }
}

}  // namespace sumwire::gpu
