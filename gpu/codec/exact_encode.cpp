#include <algorithm>
#include <array>
#include <cstring>

#include "gpu/codec/exact.h"
#include "gpu/codec/float_bits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/codec/exact_encode.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file again.
#include "gpu/codec/compact-inl.h"

#ifndef SUMWIRE_GPU_CODEC_EXACT_ENCODE_ONCE_
#define SUMWIRE_GPU_CODEC_EXACT_ENCODE_ONCE_
namespace sumwire::gpu {
namespace {

std::uint32_t infinity_counts(float value) {
    constexpr std::uint32_t positive = 1;
    constexpr std::uint32_t negative = 1 << 16;
    const FloatParts parts = take_apart(value);
    if (parts.finite()) return 0;
    if (parts.significand != 0) return positive + negative;
    return parts.negative ? negative : positive;
}

}  // namespace
}  // namespace sumwire::gpu
#endif

HWY_BEFORE_NAMESPACE();
namespace sumwire::gpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Words = hn::CappedTag<std::uint32_t, 16>;
using Integers = hn::RebindToSigned<Words>;
using IntegerVector = hn::Vec<Integers>;

// A block's values as signed significands, and by how much to shift them to the block's unit.
struct Unpacked {
    alignas(64) std::int32_t significand[block_elements];
    alignas(64) std::int32_t shift[block_elements];
};

HWY_INLINE void unpack(const float* values, const BlockShape& shape, Unpacked& to) {
    const Words d;
    const Integers di;
    const auto zero = hn::Zero(d);
    for (std::size_t i = 0; i < block_elements; i += hn::Lanes(d)) {
        const auto bits = hn::BitCast(d, hn::LoadU(hn::RebindToFloat<Words>(), values + i));
        const auto exponent = hn::ShiftRight<23>(hn::AndNot(hn::Set(d, sign_bit), bits));
        const auto implicit = hn::IfThenZeroElse(hn::Eq(exponent, zero), hn::Set(d, 1u << 23));
        auto magnitude = hn::Or(hn::And(bits, hn::Set(d, 0x7f'ffff)), implicit);
        magnitude = hn::IfThenZeroElse(hn::Eq(exponent, hn::Set(d, non_finite_exponent)), magnitude);
        const auto sign = hn::BroadcastSignBit(hn::BitCast(di, bits));
        hn::Store(hn::Sub(hn::Xor(hn::BitCast(di, magnitude), sign), sign), di,
                  to.significand + i);
        const auto scale = hn::BitCast(di, hn::Max(exponent, hn::Set(d, 1)));
        hn::Store(hn::Sub(scale, hn::Set(di, shape.low)), di, to.shift + i);
    }
}

// The binary digits from `offset` on, as many as an integer has.
HWY_INLINE IntegerVector digits_from(const Unpacked& block, std::size_t i, int offset) {
    const Integers di;
    const auto significand = hn::Load(di, block.significand + i);
    const auto shift = hn::Sub(hn::Load(di, block.shift + i), hn::Set(di, offset));
    const auto zero = hn::Zero(di);
    const auto all = hn::Set(di, 31);
    const auto left = hn::Shl(significand, hn::Min(hn::Max(shift, zero), all));
    const auto right = hn::Shr(significand, hn::Min(hn::Max(hn::Neg(shift), zero), all));
    const auto inside = hn::IfThenZeroElse(hn::Gt(shift, all), left);
    return hn::IfThenElse(hn::Lt(shift, zero), right, inside);
}

// The digits of one place.
HWY_INLINE void write_digits(const Unpacked& block, int offset, unsigned width, std::uint32_t mask,
                             std::uint32_t bias, std::uint32_t* words) {
    const Integers di;
    const std::size_t lanes = hn::Lanes(di);
    const auto kept = hn::Set(di, static_cast<std::int32_t>(mask));
    const auto added = hn::Set(di, static_cast<std::int32_t>(bias));
    const auto digit = [&](std::size_t i) HWY_ATTR {
        return hn::And(hn::Add(digits_from(block, i, offset), added), kept);
    };
    switch (width) {
        case 32:
            for (std::size_t i = 0; i < block_elements; i += lanes)
                hn::StoreU(hn::BitCast(Words(), digit(i)), Words(), words + i);
            return;
        case 16: {
            const hn::Rebind<std::uint16_t, Integers> narrow;
            auto* const to = reinterpret_cast<std::uint16_t*>(words);
            for (std::size_t i = 0; i < block_elements; i += lanes)
                hn::StoreU(hn::DemoteTo(narrow, digit(i)), narrow, to + i);
            return;
        }
        default:
            break;
    }
    const hn::Rebind<std::uint8_t, Integers> narrow;
    if (width == 8) {
        auto* const to = reinterpret_cast<std::uint8_t*>(words);
        for (std::size_t i = 0; i < block_elements; i += lanes)
            hn::StoreU(hn::DemoteTo(narrow, digit(i)), narrow, to + i);
        return;
    }
    alignas(64) std::uint8_t bytes[block_elements];
    for (std::size_t i = 0; i < block_elements; i += lanes)
        hn::StoreU(hn::DemoteTo(narrow, digit(i)), narrow, bytes + i);
    for (std::size_t i = 0; i < 4; ++i) {
        std::uint32_t low = 0;
        std::uint32_t high = 0;
        std::memcpy(&low, bytes + 4 * i, sizeof low);
        std::memcpy(&high, bytes + 16 + 4 * i, sizeof high);
        words[i] = low | high << 4;
    }
}

HWY_INLINE std::uint32_t* encode_block(const float* packed, std::uint32_t elements,
                                       const BlockShape& shape, const ExactLayout& layout,
                                       std::uint32_t* words) {
    Unpacked block;
    unpack(packed, shape, block);
    const Digits& digits = layout.digits(shape);
    // From the lowest digit up: each overwrites what the one before wrote too far.
    for (unsigned k = 0; k < digits.count; ++k) {
        const auto [offset, width] = digits.digits[k];
        const bool last = k + 1 == digits.count;
        const std::uint32_t mask = full_block >> (32 - width + layout.carry());
        write_digits(block, offset, width, mask, last ? 1u << (shape.bits - offset) : 0, words);
        words += digit_words(width, elements);
    }
    if (shape.flagged) {
        for (std::uint32_t i = 0; i < elements; ++i)
            *words++ = infinity_counts(packed[i]);
    }
    return words;
}

void encode_blocks(std::span<const float> values, std::span<const std::uint32_t> index,
                   std::span<const BlockShape> shapes, const ExactLayout& layout,
                   std::uint32_t* words) {
    const std::size_t full = values.size() / block_elements;
    float packed[block_elements + compact_slack];
    for (std::size_t b = 0; b < index.size(); ++b) {
        if (index[b] == 0) continue;
        const float* from = values.data() + b * block_elements;
        std::uint32_t elements = block_elements;
        if (index[b] != full_block) {
            elements = 0;
            if (b < full) {
                elements = static_cast<std::uint32_t>(compress_block(from, index[b], packed));
            } else {
                for_each_bit(index[b], [&](std::uint32_t i) { packed[elements++] = from[i]; });
            }
            std::fill(packed + elements, packed + block_elements, 0.0f);
            from = packed;
        }
        words = encode_block(from, elements, shapes[b], layout, words);
    }
}

}  // namespace
}  // namespace sumwire::gpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sumwire::gpu {

HWY_EXPORT(encode_blocks);

void encode_exact(std::span<const float> values, std::span<const std::uint32_t> index,
                  std::span<const BlockShape> shapes, const ExactLayout& layout,
                  std::span<std::uint32_t> words) {
    HWY_DYNAMIC_DISPATCH(encode_blocks)(values, index, shapes, layout, words.data());
}

}  // namespace sumwire::gpu
#endif
