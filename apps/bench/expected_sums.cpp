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
        const float is = result[i];
        const float should = values[i];
        if (std::bit_cast<std::uint32_t>(is) == std::bit_cast<std::uint32_t>(should)) continue;
        if (std::isnan(is) && std::isnan(should)) continue;
        const bool close = !bounds.empty() && std::abs(static_cast<double>(is) - should) <=
                                                  bounds[i / gpu::chunk_elements];
        wrong += close ? 0 : 1;
    }
    return wrong;
}

}  // namespace sumwire::apps
