#include "gpu/codec/divide.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/codec/divide.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file again.
#include "gpu/codec/round-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sumwire::gpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The quotient of a float and at most 1024, as a double, is never so close to halfway between two
// floats that rounding it again could go wrong.
template <Rounding rounding>
void divide(std::span<float> values, double divisor) {
    const Doubles d;
    const NarrowFloats df;
    const auto division = hn::Set(d, divisor);
    const auto quotient = [&](const float* from) HWY_ATTR {
        return round_to_float<rounding>(
            hn::Div(hn::PromoteTo(d, hn::LoadU(df, from)), division));
    };
    const std::size_t lanes = hn::Lanes(d);
    std::size_t i = 0;
    for (; i + lanes <= values.size(); i += lanes)
        hn::StoreU(quotient(values.data() + i), df, values.data() + i);
    if (i == values.size()) return;
    float rest[8] = {};
    std::copy(values.begin() + static_cast<std::ptrdiff_t>(i), values.end(), rest);
    hn::StoreU(quotient(rest), df, rest);
    std::copy_n(rest, values.size() - i, values.begin() + static_cast<std::ptrdiff_t>(i));
}

void divide_to_nearest(std::span<float> values, double divisor) {
    divide<Rounding::nearest>(values, divisor);
}

void divide_to_odd(std::span<float> values, double divisor) {
    divide<Rounding::odd>(values, divisor);
}

}  // namespace
}  // namespace sumwire::gpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sumwire::gpu {

HWY_EXPORT(divide_to_nearest);
HWY_EXPORT(divide_to_odd);

void divide_floats(std::span<float> values, std::uint32_t divisor, Rounding rounding) {
    if (rounding == Rounding::nearest) {
        HWY_DYNAMIC_DISPATCH(divide_to_nearest)(values, divisor);
    } else {
        HWY_DYNAMIC_DISPATCH(divide_to_odd)(values, divisor);
    }
}

}  // namespace sumwire::gpu
#endif
