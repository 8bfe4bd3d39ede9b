#include <algorithm>
#include <bit>

#include "gpu/codec/exact.h"
#include "gpu/codec/exact_wide.h"
#include "gpu/codec/float_bits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/codec/exact_decode.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file again.
#include "gpu/codec/round-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sumwire::gpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Words = hn::CappedTag<std::uint32_t, 16>;
using Longs = hn::RebindToUnsigned<Doubles>;
using NarrowWords = hn::Rebind<std::uint32_t, Longs>;

// Sums below 2^52 are doubles: the lower bits of one between 2^52 and 2^53.
constexpr unsigned narrow_bits = 52;
constexpr unsigned max_narrow_digits = 5;

// The digits of one place, as words. Reads, of narrow ones, those of a whole block.
HWY_INLINE const std::uint32_t* widen(const std::uint32_t* words, unsigned width,
                                      std::uint32_t* wide) {
    const Words d;
    switch (width) {
        case 32:
            return words;
        case 16: {
            const hn::Rebind<std::uint16_t, Words> narrow;
            const auto* const from = reinterpret_cast<const std::uint16_t*>(words);
            for (std::size_t i = 0; i < block_elements; i += hn::Lanes(d))
                hn::Store(hn::PromoteTo(d, hn::LoadU(narrow, from + i)), d, wide + i);
            return wide;
        }
        case 8: {
            const hn::Rebind<std::uint8_t, Words> narrow;
            const auto* const from = reinterpret_cast<const std::uint8_t*>(words);
            for (std::size_t i = 0; i < block_elements; i += hn::Lanes(d))
                hn::Store(hn::PromoteTo(d, hn::LoadU(narrow, from + i)), d, wide + i);
            return wide;
        }
        default: {
            const hn::Rebind<std::uint8_t, Words> narrow;
            const auto* const from = reinterpret_cast<const std::uint8_t*>(words);
            constexpr std::size_t half = block_elements / 2;
            for (std::size_t i = 0; i < half; i += hn::Lanes(d)) {
                const auto both = hn::PromoteTo(d, hn::LoadU(narrow, from + i));
                hn::Store(hn::And(both, hn::Set(d, 0xf)), d, wide + i);
                hn::Store(hn::ShiftRight<4>(both), d, wide + half + i);
            }
            return wide;
        }
    }
}

constexpr double power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

template <Rounding rounding>
HWY_INLINE bool decode_narrow_block(const std::uint32_t* words, std::uint32_t elements,
                                    const BlockShape& shape, const ExactLayout& layout,
                                    std::uint32_t divisor, float* results) {
    const Doubles d;
    const Longs dl;
    const Digits& digits = layout.digits(shape);
    alignas(64) std::uint32_t wide[max_narrow_digits][block_elements];
    const std::uint32_t* places[max_narrow_digits];
    for (unsigned k = 0; k < digits.count; ++k) {
        const unsigned width = digits.digits[k].width;
        places[k] = widen(words, width, wide[k]);
        words += digit_words(width, elements);
    }

    const double ranks = layout.world_size();
    const double bias = power_of_two(shape.bits);
    const auto exponent_bits = hn::BitCast(dl, hn::Set(d, 0x1p52));
    const auto offset = hn::Set(d, 0x1p52 + ranks * bias);
    const auto unit = hn::Set(d, power_of_two(shape.low - 150));
    const auto division = hn::Set(d, divisor);
    const auto none = hn::Set(dl, layout.world_size() * (std::uint64_t{1} << shape.bits));
    auto largest = hn::Zero(d);
    auto bits = hn::Zero(dl);
    for (std::size_t i = 0; i < elements; i += hn::Lanes(d)) {
        auto sum = hn::PromoteTo(dl, hn::LoadU(NarrowWords(), places[0] + i));
        for (unsigned k = 1; k < digits.count; ++k) {
            const auto digit = hn::PromoteTo(dl, hn::LoadU(NarrowWords(), places[k] + i));
            sum = hn::Add(sum, hn::ShiftLeftSame(digit, digits.digits[k].offset));
        }
        // What is read beyond the elements is anything.
        if (i + hn::Lanes(d) > elements)
            sum = hn::IfThenElse(hn::FirstN(dl, elements - i), sum, none);
        bits = hn::Or(bits, sum);
        const auto integer = hn::Sub(hn::BitCast(d, hn::Or(sum, exponent_bits)), offset);
        largest = hn::Max(largest, hn::Abs(integer));
        auto value = hn::Mul(integer, unit);
        if (divisor != 1) value = hn::Div(value, division);
        hn::StoreU(round_to_float<rounding>(value), NarrowFloats(), results + i);
    }
    const auto limit = hn::Set(d, ranks * (bias - 1));
    const auto below = hn::Eq(hn::ShiftRight<narrow_bits>(bits), hn::Zero(dl));
    return hn::AllTrue(d, hn::Le(largest, limit)) && hn::AllTrue(dl, below);
}

template <Rounding rounding>
bool decode(std::span<const std::uint32_t> words, std::span<const std::uint32_t> index,
            std::span<const BlockShape> shapes, const ExactLayout& layout, std::uint32_t divisor,
            float* results) {
    const std::uint32_t* from = words.data();
    bool good = true;
    for (std::size_t b = 0; b < index.size(); ++b) {
        const auto elements = static_cast<std::uint32_t>(std::popcount(index[b]));
        if (elements == 0) continue;
        const BlockShape& shape = shapes[b];
        const bool narrow = !shape.flagged && shape.bits + 1u + layout.carry() <= narrow_bits;
        good &= narrow ? decode_narrow_block<rounding>(from, elements, shape, layout, divisor,
                                                       results)
                       : decode_wide_block(from, elements, shape, layout, divisor, rounding,
                                           results);
        from += layout.words(shape, elements);
        results += elements;
    }
    return good;
}

bool decode_blocks(std::span<const std::uint32_t> words, std::span<const std::uint32_t> index,
                   std::span<const BlockShape> shapes, const ExactLayout& layout,
                   std::uint32_t divisor, Rounding rounding, float* results) {
    const auto run = rounding == Rounding::nearest ? decode<Rounding::nearest>
                                                   : decode<Rounding::odd>;
    return run(words, index, shapes, layout, divisor, results);
}

}  // namespace
}  // namespace sumwire::gpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sumwire::gpu {

HWY_EXPORT(decode_blocks);

bool decode_exact(std::span<const std::uint32_t> words, std::span<const std::uint32_t> index,
                  std::span<const BlockShape> shapes, const ExactLayout& layout,
                  std::uint32_t divisor, Rounding rounding, std::span<float> results) {
    return HWY_DYNAMIC_DISPATCH(decode_blocks)(words, index, shapes, layout, divisor, rounding,
                                               results.data());
}

}  // namespace sumwire::gpu
#endif
