#include "apps/support/verdict.h"

#include <bit>
#include <cmath>
#include <cstddef>

#include "apps/support/reference_sum.h"

namespace sumwire::apps {
namespace {

bool same(float is, float should) {
    return std::bit_cast<std::uint32_t>(is) == std::bit_cast<std::uint32_t>(should) ||
           (std::isnan(is) && std::isnan(should));
}

bool close(float is, float should, double bound) {
    if (!std::isfinite(bound)) return std::isnan(is);
    // A sum that overflows is right only as it stands.
    return same(is, should) || std::abs(static_cast<double>(is) - should) <= bound;
}

}  // namespace

Verdict ExpectedSums::judge(std::span<const float> result) const {
    Verdict verdict;
    if (result.size() != values.size()) {
        verdict.wrong = values.size() + result.size();
        return verdict;
    }
    for (std::size_t i = 0; i < result.size(); ++i) {
        const bool right = bounds.empty()
                               ? same(result[i], values[i])
                               : close(result[i], values[i], bounds[i / fixed32_chunk_elements]);
        if (right) continue;
        if (verdict.wrong++ == 0) verdict = {1, i, values[i], result[i]};
    }
    return verdict;
}

}  // namespace sumwire::apps
