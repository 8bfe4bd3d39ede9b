// Whether results are right, by sums that share no code with the library.
#pragma once

#include <cstdint>
#include <span>

namespace sumwire::apps {

struct Verdict {
    std::uint64_t wrong = 0;  // elements
    std::uint64_t first = 0;  // the first of them
    float expected = 0;       // there
    float found = 0;
};

// What every rank must end with. Views; whoever made them keeps the memory.
struct ExpectedSums {
    std::span<const float> values;
    // Largest error of each chunk of fixed32_chunk_elements (reference_sum.h), infinity where all
    // of it must be NaN. Empty: every bit must be that of `values`.
    std::span<const double> bounds;

    // Any NaN is as good as any other: neither its sign nor its payload is compared. A result of
    // another length is wrong altogether.
    Verdict judge(std::span<const float> result) const;
};

}  // namespace sumwire::apps
