#include "gpu/codec/compact.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/codec/compact.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file again.
#include "gpu/codec/compact-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sumwire::gpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE const float* expand_block(const float* packed, std::uint32_t mask, float* block) {
    const hn::CappedTag<float, bit_table_lanes> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    const hn::Rebind<std::uint8_t, decltype(d)> bytes;
    const std::size_t lanes = hn::Lanes(d);
    for (std::size_t i = 0; i < block_elements; i += lanes) {
        const std::uint32_t bits = mask >> i & ((1u << lanes) - 1);
        const auto from = hn::PromoteTo(du, hn::LoadU(bytes, bits_below[bits].data()));
        const auto values = hn::TableLookupLanes(hn::LoadU(d, packed), hn::IndicesFromVec(d, from));
        std::uint8_t mask_bytes[8] = {static_cast<std::uint8_t>(bits)};
        const auto set = hn::LoadMaskBits(d, mask_bytes);
        hn::StoreU(hn::IfThenElse(set, values, hn::LoadU(d, block + i)), d, block + i);
        packed += std::popcount(bits);
    }
    return packed;
}

void gather_blocks(std::span<const float> values, std::span<const std::uint32_t> index,
                   float* packed) {
    const std::size_t full = values.size() / block_elements;
    for (std::size_t b = 0; b < full; ++b) {
        const float* const block = values.data() + b * block_elements;
        if (index[b] == 0) continue;
        if (index[b] == full_block) {
            packed = std::copy_n(block, block_elements, packed);
        } else {
            packed += compress_block(block, index[b], packed);
        }
    }
    if (full == index.size()) return;
    const float* const rest = values.data() + full * block_elements;
    for_each_bit(index[full], [&](std::uint32_t i) { *packed++ = rest[i]; });
}

void scatter_blocks(const float* packed, std::span<const std::uint32_t> index,
                    std::span<float> values) {
    const std::size_t full = values.size() / block_elements;
    for (std::size_t b = 0; b < full; ++b) {
        float* const block = values.data() + b * block_elements;
        if (index[b] == 0) continue;
        if (index[b] == full_block) {
            std::copy_n(packed, block_elements, block);
            packed += block_elements;
        } else {
            packed = expand_block(packed, index[b], block);
        }
    }
    if (full == index.size()) return;
    float* const rest = values.data() + full * block_elements;
    for_each_bit(index[full], [&](std::uint32_t i) { rest[i] = *packed++; });
}

}  // namespace
}  // namespace sumwire::gpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sumwire::gpu {

HWY_EXPORT(gather_blocks);
HWY_EXPORT(scatter_blocks);

void gather(std::span<const float> values, std::span<const std::uint32_t> index, float* packed) {
    HWY_DYNAMIC_DISPATCH(gather_blocks)(values, index, packed);
}

void scatter(const float* packed, std::span<const std::uint32_t> index, std::span<float> values) {
    HWY_DYNAMIC_DISPATCH(scatter_blocks)(packed, index, values);
}

}  // namespace sumwire::gpu
#endif
