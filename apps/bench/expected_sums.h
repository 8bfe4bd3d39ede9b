// What the ranks of an allreduce must end with, for one arithmetic.
#pragma once

#include <cstdint>
#include <span>

namespace sumwire::apps {

// Views; whoever made them keeps the memory.
struct ExpectedSums {
    std::span<const float> values;
    // Largest error of each chunk; empty: the bits must be those of `values`.
    std::span<const double> bounds;

    // Elements of a result that are wrong.
    std::uint64_t count_wrong(std::span<const float> result) const;
};

}  // namespace sumwire::apps
