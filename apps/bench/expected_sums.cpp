#include "apps/bench/expected_sums.h"

#include <bit>
#include <cmath>
#include <cstddef>

#include "gpu/codec/chunk_codec.h"

namespace sumwire::apps {

std::uint64_t ExpectedSums::count_wrong(std::span<const float> result) const {
    if (result.size() != values.size()) return values.size() + result.size();
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
        const bool right = bounds.empty() ? std::bit_cast<std::uint32_t>(result[i]) ==
                                                std::bit_cast<std::uint32_t>(values[i])
                                          : std::abs(static_cast<double>(result[i]) - values[i]) <=
                                                bounds[i / gpu::chunk_elements];
        wrong += right ? 0 : 1;
    }
    return wrong;
}

}  // namespace sumwire::apps
