// Fixed-point sums: one int32 a value, one scale a chunk.
//
// The scale's code is the largest biased exponent of the chunk's values over all ranks; 255 says
// that some rank has a NaN or an infinity, which makes the whole chunk NaN. With s = max(code, 1),
// every value is below 2^(s - 126). It is rounded, to nearest, ties to even, to a multiple of the
// unit 2^(s - 126 - (30 - c)), c = ceil(log2(world size)): an integer of magnitude 2^(30 - c) at
// most, so that world size of them never exceed 2^30. The sum of the integers is rounded once to
// float; the average is divided by the world size before that.
//
// So an element of the sum is off by at most world size * half a unit before the result's own
// rounding to float. With 2^p the largest power of two that is no larger than the chunk's largest
// magnitude (and 2^-126 for subnormals), half a unit is 2^(p - (30 - c)).
#pragma once

#include <cstdint>
#include <span>

#include "gpu/codec/rounding.h"

namespace sumwire::gpu {

inline constexpr std::uint8_t fixed32_not_finite = 255;

// `largest`: the bits of the largest magnitude.
constexpr std::uint8_t fixed32_code(std::uint32_t largest) {
    return static_cast<std::uint8_t>(largest >> 23);
}

struct Fixed32Scale {
    std::uint8_t code = 0;  // not fixed32_not_finite
    std::uint32_t world_size = 1;
};

// In place: floats, none larger than the scale allows, become integers.
void encode_fixed32(std::span<std::uint32_t> words, Fixed32Scale scale);

// As many results as words; may read and write up to 16 more of each. False if no values sum up to
// these words.
bool decode_fixed32(std::span<const std::uint32_t> words, Fixed32Scale scale, std::uint32_t divisor,
                    Rounding rounding, float* results);

}  // namespace sumwire::gpu
