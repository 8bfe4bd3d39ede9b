// Elements at the set bits of an index, one after the other, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/codec/bitmap.h"

namespace sumwire::gpu {

// How many elements gather may write, and scatter read, beyond the last one.
inline constexpr std::size_t compact_slack = 16;

// Copies the elements at set bits; `packed` holds as many as the population, and the slack.
void gather(std::span<const float> values, std::span<const std::uint32_t> index, float* packed);
// The inverse; elements at clear bits stay as they are.
void scatter(const float* packed, std::span<const std::uint32_t> index, std::span<float> values);

}  // namespace sumwire::gpu
