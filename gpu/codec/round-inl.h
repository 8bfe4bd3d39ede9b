// Doubles to floats, for kernels of every instruction set: included once for each.
#if defined(SUMWIRE_GPU_CODEC_ROUND_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SUMWIRE_GPU_CODEC_ROUND_INL_H_
#undef SUMWIRE_GPU_CODEC_ROUND_INL_H_
#else
#define SUMWIRE_GPU_CODEC_ROUND_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "gpu/codec/rounding.h"

HWY_BEFORE_NAMESPACE();
namespace sumwire::gpu::HWY_NAMESPACE {
namespace {

using Doubles = hwy::HWY_NAMESPACE::CappedTag<double, 8>;
// As many of them.
using NarrowFloats = hwy::HWY_NAMESPACE::Rebind<float, Doubles>;

HWY_INLINE hwy::HWY_NAMESPACE::Vec<NarrowFloats> nearest_floats(
    hwy::HWY_NAMESPACE::Vec<Doubles> value) {
    namespace hn = hwy::HWY_NAMESPACE;
    const NarrowFloats df;
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
    // Their DemoteTo makes the largest float of infinity, and of all that rounds to it.
    const Doubles d;
    double wide[hn::MaxLanes(d)];
    float narrow[hn::MaxLanes(d)];
    hn::StoreU(value, d, wide);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i)
        narrow[i] = static_cast<float>(wide[i]);
    return hn::LoadU(df, narrow);
#else
    return hn::DemoteTo(df, value);
#endif
}

template <Rounding rounding>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<NarrowFloats> round_to_float(
    hwy::HWY_NAMESPACE::Vec<Doubles> value) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::RebindToSigned<NarrowFloats> di;
    const auto nearest = nearest_floats(value);
    if constexpr (rounding == Rounding::nearest) {
        return nearest;
    } else {
        const Doubles d;
        const auto back = hn::PromoteTo(d, nearest);
        const auto flag = [&](auto mask) HWY_ATTR {
            return hn::DemoteTo(di, hn::IfThenElseZero(mask, hn::Set(d, 1.0)));
        };
        const auto too_large = flag(hn::Gt(hn::Abs(back), hn::Abs(value)));
        // Of a NaN neither.
        const auto inexact = flag(hn::Or(hn::Gt(back, value), hn::Lt(back, value)));
        const auto truncated = hn::Sub(hn::BitCast(di, nearest), too_large);
        return hn::BitCast(NarrowFloats(), hn::Or(truncated, inexact));
    }
}

}  // namespace
}  // namespace sumwire::gpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
