#include "apps/support/reference_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "apps/support/exact_accumulator.h"

namespace sumwire::apps {
namespace {

float rank_order_sum(RankValues ranks, std::size_t element) {
    float sum = ranks.front()[element];
    for (const auto& rank : ranks.subspan(1))
        sum += rank[element];
    return sum;
}

// What a float sum makes of values of which one is not finite.
float not_finite_sum(RankValues ranks, std::size_t element) {
    float sum = 0;
    for (const auto& rank : ranks)
        if (!std::isfinite(rank[element])) sum += rank[element];
    return std::isnan(sum) ? std::numeric_limits<float>::quiet_NaN() : sum;
}

bool all_finite(RankValues ranks, std::size_t element) {
    return std::ranges::all_of(ranks,
                               [&](const auto& rank) { return std::isfinite(rank[element]); });
}

float divisor_of(RankValues ranks, ReferenceOp op) {
    return op == ReferenceOp::average ? static_cast<float>(ranks.size()) : 1.0F;
}

}  // namespace

std::vector<float> exact_reference(RankValues ranks, ReferenceOp op) {
    std::vector<float> results(ranks.front().size());
    const auto divisor = static_cast<std::uint32_t>(divisor_of(ranks, op));
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (!all_finite(ranks, i)) {
            results[i] = not_finite_sum(ranks, i);
            continue;
        }
        ExactAccumulator sum;
        for (const auto& rank : ranks)
            sum.add(rank[i]);
        results[i] = sum.rounded(divisor);
    }
    return results;
}

std::vector<float> rank_order_reference(RankValues ranks, ReferenceOp op) {
    std::vector<float> results(ranks.front().size());
    const float divisor = divisor_of(ranks, op);
    for (std::size_t i = 0; i < results.size(); ++i)
        results[i] = rank_order_sum(ranks, i) / divisor;
    return results;
}

std::vector<double> fixed32_bounds(RankValues ranks, ReferenceOp op, std::size_t chunk_elements) {
    const std::size_t count = ranks.front().size();
    const auto world_size = static_cast<unsigned>(ranks.size());
    const int carries = std::bit_width(world_size - 1);
    std::vector<double> bounds;
    for (std::size_t begin = 0; begin < count; begin += chunk_elements) {
        const std::size_t end = std::min(count, begin + chunk_elements);
        float largest = 0;
        for (const auto& rank : ranks)
            for (std::size_t i = begin; i < end; ++i)
                largest = std::max(largest, std::fabs(rank[i]));
        const int exponent =
            std::max(largest > 0 ? std::ilogb(largest) : 0, std::numeric_limits<float>::min_exponent - 1);
        const double half_unit = largest > 0 ? std::ldexp(1.0, exponent - (30 - carries)) : 0;
        // Two results that were rounded, each by half a unit in the last place of the largest sum.
        const double largest_sum = static_cast<double>(largest) * world_size;
        const double rounding = largest_sum * std::numeric_limits<float>::epsilon();
        const double divisor = divisor_of(ranks, op);
        bounds.push_back((half_unit * world_size + rounding) / divisor +
                         std::numeric_limits<float>::denorm_min());
    }
    return bounds;
}

}  // namespace sumwire::apps
