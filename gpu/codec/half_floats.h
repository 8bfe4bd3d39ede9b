// bfloat16 and float16 (IEEE binary16), as their bits.
#pragma once

#include <cstdint>
#include <span>

namespace sumwire::gpu {

// Exact. wide.size() == narrow.size().
void widen_bf16(std::span<const std::uint16_t> narrow, std::span<float> wide);
void widen_f16(std::span<const std::uint16_t> narrow, std::span<float> wide);

// To nearest, ties to even; beyond the largest: infinity. A NaN becomes the quiet one.
void narrow_bf16(std::span<const float> wide, std::span<std::uint16_t> narrow);
void narrow_f16(std::span<const float> wide, std::span<std::uint16_t> narrow);

}  // namespace sumwire::gpu
