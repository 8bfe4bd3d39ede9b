// The first look at a chunk, one pass over its values: which are non-zero, how large the largest
// is, and each block's range.
#pragma once

#include <cstdint>
#include <span>

#include "gpu/codec/bitmap.h"
#include "gpu/codec/exact.h"

namespace sumwire::gpu {

enum class MinusZero : bool { is_zero, is_value };

struct Scan {
    std::uint32_t largest = 0;  // magnitude's bits; above infinity_bits: a NaN
    bool minus_zeros = false;
};

Scan scan_values(std::span<const float> values, MinusZero minus_zero,
                 std::span<std::uint32_t> index);
// The same, -0.0 being zero, and the range of every block: ranges.size() == index.size().
Scan scan_values(std::span<const float> values, std::span<std::uint32_t> index,
                 std::span<BlockRange> ranges);

}  // namespace sumwire::gpu
