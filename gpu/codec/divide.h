// Division of float sums by the world size.
#pragma once

#include <cstdint>
#include <span>

#include "gpu/codec/rounding.h"

namespace sumwire::gpu {

// In place; each quotient rounded once. NaN, infinity and the sign of zero stay.
void divide_floats(std::span<float> values, std::uint32_t divisor, Rounding rounding);

}  // namespace sumwire::gpu
