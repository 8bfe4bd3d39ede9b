// The elements of one block, for kernels of every instruction set: included once for each.
#if defined(SUMWIRE_GPU_CODEC_COMPACT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SUMWIRE_GPU_CODEC_COMPACT_INL_H_
#undef SUMWIRE_GPU_CODEC_COMPACT_INL_H_
#else
#define SUMWIRE_GPU_CODEC_COMPACT_INL_H_
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "gpu/codec/bit_tables.h"
#include "gpu/codec/bitmap.h"
#include "gpu/codec/compact.h"

HWY_BEFORE_NAMESPACE();
namespace sumwire::gpu::HWY_NAMESPACE {
namespace {

// The block's elements at the set bits of `mask`; how many. Reads the whole block; may write
// compact_slack floats beyond the last. A permutation and a whole store: masked stores, which
// compressing stores of AVX2 would be, take tens of cycles on some processors.
HWY_INLINE std::size_t compress_block(const float* block, std::uint32_t mask, float* packed) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::CappedTag<float, bit_table_lanes> d;
    const hn::RebindToUnsigned<decltype(d)> du;
    const hn::Rebind<std::uint8_t, decltype(d)> bytes;
    const std::size_t lanes = hn::Lanes(d);
    float* to = packed;
    for (std::size_t i = 0; i < block_elements; i += lanes) {
        const std::uint32_t bits = mask >> i & ((1u << lanes) - 1);
        const auto from = hn::PromoteTo(du, hn::LoadU(bytes, set_bits_of[bits].data()));
        hn::StoreU(hn::TableLookupLanes(hn::LoadU(d, block + i), hn::IndicesFromVec(d, from)), d,
                   to);
        to += std::popcount(bits);
    }
    return static_cast<std::size_t>(to - packed);
}

}  // namespace
}  // namespace sumwire::gpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
