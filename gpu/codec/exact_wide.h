// Exact sums of any width, one element at a time: the path for what exceeds the vectors' 52 bits.
#pragma once

#include <cstdint>

#include "gpu/codec/exact.h"

namespace sumwire::gpu {

// Rounds the sums of one block's elements, as decode_exact does. False if no values sum up to them.
bool decode_wide_block(const std::uint32_t* words, std::uint32_t elements, const BlockShape& shape,
                       const ExactLayout& layout, std::uint32_t divisor, Rounding rounding,
                       float* results);

}  // namespace sumwire::gpu
