// Gradients to sum: kinds of values, and where they are.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "tests/unit/gpu/support/fake_network.h"

namespace sumwire::gpu::testing {

enum class Values {
    gradients,   // a few orders of magnitude around 1e-3, both signs
    one_binade,  // all between 1 and 2
    any_finite,  // random bit patterns without NaN and infinity
    any_bits,    // random bit patterns, NaN and infinity among them
    subnormals,  // and the smallest normals
    huge,        // so that sums overflow
    cancelling,  // sums that vanish, -0, and lone last bits
    special      // NaN, infinities, zeros, ones, extremes
};
inline constexpr Values all_values[] = {Values::gradients,  Values::one_binade, Values::any_finite,
                                        Values::any_bits,   Values::subnormals, Values::huge,
                                        Values::cancelling, Values::special};

enum class Pattern {
    empty,
    full,
    uniform,    // each rank its own tenth
    scattered,  // one in a hundred
    runs,
    column,  // every 64th element
    one_row  // 64 elements somewhere
};
inline constexpr Pattern all_patterns[] = {Pattern::empty,     Pattern::full, Pattern::uniform,
                                           Pattern::scattered, Pattern::runs, Pattern::column,
                                           Pattern::one_row};

Gradients make_gradients(Values values, Pattern pattern, std::uint32_t world_size,
                         std::uint32_t count, std::uint64_t seed);

}  // namespace sumwire::gpu::testing
