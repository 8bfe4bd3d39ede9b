#include "gpu/codec/scan.h"

#include <algorithm>
#include <array>

#include "gpu/codec/float_bits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/codec/scan.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file again.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sumwire::gpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Words = hn::CappedTag<std::uint32_t, 16>;
using Integers = hn::RebindToSigned<Words>;
using Floats = hn::RebindToFloat<Words>;
using WordVector = hn::Vec<Words>;

// Unaligned: gradients are aligned to four bytes only.
HWY_INLINE WordVector load_bits(const float* values) {
    return hn::BitCast(Words(), hn::LoadU(Floats(), values));
}

// Memory, not the loop, sets the pace, and the processor's own prefetchers stop at every page.
constexpr std::size_t prefetch_distance = 4096 / sizeof(float);

HWY_INLINE void prefetch_block(const float* block) {
    __builtin_prefetch(block);
    __builtin_prefetch(block + block_elements / 2);
}

struct Collected {
    WordVector largest;
    WordVector minus_zeros;
};

HWY_INLINE std::uint32_t scan_block(const float* block, WordVector significant, Collected& all) {
    const Words d;
    const auto sign = hn::Set(d, sign_bit);
    std::uint32_t mask = 0;
    for (std::size_t i = 0; i < block_elements; i += hn::Lanes(d)) {
        const auto bits = load_bits(block + i);
        std::array<std::uint8_t, 8> lanes{};
        hn::StoreMaskBits(d, hn::Ne(hn::And(bits, significant), hn::Zero(d)), lanes.data());
        mask |= (std::uint32_t{lanes[0]} | std::uint32_t{lanes[1]} << 8) << i;
        all.largest = hn::Max(all.largest, hn::AndNot(sign, bits));
        all.minus_zeros = hn::Or(all.minus_zeros, hn::VecFromMask(d, hn::Eq(bits, sign)));
    }
    return mask;
}

// Of a block without NaN or infinity.
HWY_INLINE BlockRange finite_range(const float* block) {
    const Words d;
    const Integers di;
    const auto zero = hn::Zero(d);
    const auto one = hn::Set(d, 1);
    auto largest = zero;
    auto lowest = hn::Zero(di);
    for (std::size_t i = 0; i < block_elements; i += hn::Lanes(d)) {
        const auto magnitude = hn::AndNot(hn::Set(d, sign_bit), load_bits(block + i));
        const auto exponent = hn::ShiftRight<23>(magnitude);
        largest = hn::Max(largest, exponent);
        const auto implicit = hn::IfThenZeroElse(hn::Eq(exponent, zero), hn::Set(d, 1u << 23));
        const auto significand = hn::Or(hn::And(magnitude, hn::Set(d, 0x7f'ffff)), implicit);
        const auto last_bit = hn::And(significand, hn::Sub(zero, significand));
        // A power of two as a float tells its logarithm in its exponent.
        const auto power = hn::BitCast(d, hn::ConvertTo(Floats(), hn::BitCast(di, last_bit)));
        const auto trailing = hn::Sub(hn::ShiftRight<23>(power), hn::Set(d, 127));
        const auto place = hn::Add(trailing, hn::Max(exponent, one));
        const auto below = hn::Sub(hn::Set(d, 255), place);
        const auto counted = hn::IfThenZeroElse(hn::Eq(magnitude, zero), below);
        lowest = hn::Max(lowest, hn::BitCast(di, counted));
    }
    return {static_cast<std::uint8_t>(hn::GetLane(hn::MaxOfLanes(d, largest))),
            static_cast<std::uint8_t>(hn::GetLane(hn::MaxOfLanes(di, lowest)))};
}

template <bool with_ranges>
Scan scan(std::span<const float> values, std::uint32_t significant, std::span<std::uint32_t> index,
          std::span<BlockRange> ranges) {
    const Words d;
    Collected all{hn::Zero(d), hn::Zero(d)};
    const auto keep = hn::Set(d, significant);
    const auto look_at = [&](const float* block, std::size_t b) HWY_ATTR {
        index[b] = scan_block(block, keep, all);
        if constexpr (with_ranges) {
            if (index[b] == 0) {
                ranges[b] = {};
                return;
            }
            ranges[b] = finite_range(block);
            // Its exponent, the largest there is, tells what it is.
            if (ranges[b].largest == non_finite_exponent) ranges[b] = range_of(block, index[b]);
        }
    };
    const std::size_t full = values.size() / block_elements;
    for (std::size_t b = 0; b < full; ++b) {
        const float* const block = values.data() + b * block_elements;
        prefetch_block(block + prefetch_distance);
        look_at(block, b);
    }
    if (const auto rest = values.subspan(full * block_elements); !rest.empty()) {
        std::array<float, block_elements> padded{};
        std::ranges::copy(rest, padded.begin());
        look_at(padded.data(), full);
    }
    return {hn::GetLane(hn::MaxOfLanes(d, all.largest)),
            hn::GetLane(hn::MaxOfLanes(d, all.minus_zeros)) != 0};
}

Scan scan_index(std::span<const float> values, std::uint32_t significant,
                std::span<std::uint32_t> index) {
    return scan<false>(values, significant, index, {});
}

Scan scan_index_and_ranges(std::span<const float> values, std::uint32_t significant,
                           std::span<std::uint32_t> index, std::span<BlockRange> ranges) {
    return scan<true>(values, significant, index, ranges);
}

}  // namespace
}  // namespace sumwire::gpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sumwire::gpu {

HWY_EXPORT(scan_index);
HWY_EXPORT(scan_index_and_ranges);

Scan scan_values(std::span<const float> values, MinusZero minus_zero,
                 std::span<std::uint32_t> index) {
    const std::uint32_t significant = minus_zero == MinusZero::is_value ? ~0u : ~sign_bit;
    return HWY_DYNAMIC_DISPATCH(scan_index)(values, significant, index);
}

Scan scan_values(std::span<const float> values, std::span<std::uint32_t> index,
                 std::span<BlockRange> ranges) {
    return HWY_DYNAMIC_DISPATCH(scan_index_and_ranges)(values, ~sign_bit, index, ranges);
}

}  // namespace sumwire::gpu
#endif
