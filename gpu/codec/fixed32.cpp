#include "gpu/codec/fixed32.h"

#include <algorithm>
#include <bit>

#include "gpu/codec/exact.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/codec/fixed32.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file again.
#include "gpu/codec/round-inl.h"

#ifndef SUMWIRE_GPU_CODEC_FIXED32_ONCE_
#define SUMWIRE_GPU_CODEC_FIXED32_ONCE_
namespace sumwire::gpu {
namespace {

unsigned fraction_bits(Fixed32Scale scale) {
    return 30 - carry_bits(scale.world_size);
}

// The unit's exponent.
int unit_exponent(Fixed32Scale scale) {
    return std::max<int>(scale.code, 1) - 126 - static_cast<int>(fraction_bits(scale));
}

constexpr float float_power_of_two(int exponent) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(127 + exponent) << 23);
}

constexpr double double_power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
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
using Floats = hn::RebindToFloat<Words>;

void encode(std::span<std::uint32_t> words, Fixed32Scale scale) {
    const Words d;
    // The product of both is a power of two that need not be a float. A product that is subnormal,
    // and loses bits, rounds to zero with all its bits.
    const int exponent = -unit_exponent(scale);
    const int first = std::min(exponent, 127);
    const auto scale_1 = hn::Set(Floats(), float_power_of_two(first));
    const auto scale_2 = hn::Set(Floats(), float_power_of_two(exponent - first));
    const std::size_t lanes = hn::Lanes(d);
    const auto convert = [&](auto bits) HWY_ATTR {
        const auto value = hn::Mul(hn::Mul(hn::BitCast(Floats(), bits), scale_1), scale_2);
        return hn::BitCast(d, hn::NearestInt(value));
    };
    std::size_t i = 0;
    for (; i + lanes <= words.size(); i += lanes)
        hn::StoreU(convert(hn::LoadU(d, words.data() + i)), d, words.data() + i);
    for (; i < words.size(); ++i) {
        alignas(64) std::uint32_t rest[16] = {words[i]};
        hn::Store(convert(hn::Load(d, rest)), d, rest);
        words[i] = rest[0];
    }
}

template <Rounding rounding>
bool decode(std::span<const std::uint32_t> words, Fixed32Scale scale, std::uint32_t divisor,
            float* results) {
    const Doubles d;
    const hn::Rebind<std::int32_t, Doubles> di;
    const auto unit = hn::Set(d, double_power_of_two(unit_exponent(scale)));
    const auto division = hn::Set(d, divisor);
    auto largest = hn::Zero(d);
    for (std::size_t i = 0; i < words.size(); i += hn::Lanes(d)) {
        const auto* const from = reinterpret_cast<const std::int32_t*>(words.data() + i);
        auto integer = hn::PromoteTo(d, hn::LoadU(di, from));
        // What is read beyond the words is anything.
        if (i + hn::Lanes(d) > words.size())
            integer = hn::IfThenElseZero(hn::FirstN(d, words.size() - i), integer);
        largest = hn::Max(largest, hn::Abs(integer));
        auto value = hn::Mul(integer, unit);
        if (divisor != 1) value = hn::Div(value, division);
        hn::StoreU(round_to_float<rounding>(value), NarrowFloats(), results + i);
    }
    const double limit = scale.world_size * double_power_of_two(static_cast<int>(fraction_bits(scale)));
    return hn::AllTrue(d, hn::Le(largest, hn::Set(d, limit)));
}

bool decode_nearest(std::span<const std::uint32_t> words, Fixed32Scale scale,
                    std::uint32_t divisor, float* results) {
    return decode<Rounding::nearest>(words, scale, divisor, results);
}

bool decode_odd(std::span<const std::uint32_t> words, Fixed32Scale scale, std::uint32_t divisor,
                float* results) {
    return decode<Rounding::odd>(words, scale, divisor, results);
}

}  // namespace
}  // namespace sumwire::gpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sumwire::gpu {

HWY_EXPORT(encode);
HWY_EXPORT(decode_nearest);
HWY_EXPORT(decode_odd);

void encode_fixed32(std::span<std::uint32_t> words, Fixed32Scale scale) {
    HWY_DYNAMIC_DISPATCH(encode)(words, scale);
}

bool decode_fixed32(std::span<const std::uint32_t> words, Fixed32Scale scale, std::uint32_t divisor,
                    Rounding rounding, float* results) {
    return rounding == Rounding::nearest
               ? HWY_DYNAMIC_DISPATCH(decode_nearest)(words, scale, divisor, results)
               : HWY_DYNAMIC_DISPATCH(decode_odd)(words, scale, divisor, results);
}

}  // namespace sumwire::gpu
#endif
