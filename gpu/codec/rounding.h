// How results become floats.
#pragma once

#include <cstdint>

namespace sumwire::gpu {

enum class Rounding : std::uint8_t {
    nearest,  // ties to even
    // Towards zero, and the last bit set where that is inexact. Rounding such a float to fewer bits
    // (bfloat16, float16) gives what rounding the exact value would have given.
    odd
};

}  // namespace sumwire::gpu
