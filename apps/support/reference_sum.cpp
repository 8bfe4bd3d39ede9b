#include "apps/support/reference_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "apps/support/exact_accumulator.h"

namespace sumwire::apps {
namespace {

constexpr std::uint32_t infinity_bits = 0x7f800000;

std::uint32_t magnitude_bits(float value) {
    return std::bit_cast<std::uint32_t>(value) & 0x7fffffffU;
}

bool is_finite(float value) {
    return magnitude_bits(value) < infinity_bits;
}

// Of values of which one is not finite.
float not_finite_sum(std::span<const float> values) {
    float sum = 0;
    for (const float value : values)
        if (!is_finite(value)) sum += value;
    return std::isnan(sum) ? std::numeric_limits<float>::quiet_NaN() : sum;
}

std::uint32_t divisor_of(RankValues ranks, ReduceOp op) {
    return op == ReduceOp::average ? static_cast<std::uint32_t>(ranks.size()) : 1;
}

// With 2^p the largest power of two that is no larger than the largest magnitude, a value is below
// 2^(p + 1). All ranks' sum needs c = ceil(log2(world size)) bits more, and an int32 holds 2^30
// with a sign and one bit to spare: so a value may have 30 - c bits, and the unit is 2^(p + 1 - (30
// - c)). Subnormals have the exponent of the smallest normal numbers.
double fixed32_half_unit(float largest, std::size_t world_size) {
    const int exponent = static_cast<int>(magnitude_bits(largest) >> 23U);
    const int p = std::max(exponent, 1) - 127;
    const int c = std::bit_width(world_size - 1);
    return std::ldexp(1.0, p - (30 - c));
}

}  // namespace

std::vector<float> exact_reference(RankValues ranks, ReduceOp op) {
    std::vector<float> results(ranks.front().size());
    std::vector<float> values(ranks.size());
    const std::uint32_t divisor = divisor_of(ranks, op);
    for (std::size_t i = 0; i < results.size(); ++i) {
        for (std::size_t rank = 0; rank < ranks.size(); ++rank)
            values[rank] = ranks[rank][i];
        results[i] = std::ranges::all_of(values, is_finite) ? exact_sum(values, divisor)
                                                            : not_finite_sum(values);
    }
    return results;
}

std::vector<float> rank_order_reference(RankValues ranks, ReduceOp op) {
    std::vector<float> results = ranks.front();
    for (const auto& rank : ranks.subspan(1))
        for (std::size_t i = 0; i < results.size(); ++i)
            results[i] += rank[i];
    if (op == ReduceOp::average) {
        const auto divisor = static_cast<float>(ranks.size());
        for (float& result : results)
            result /= divisor;
    }
    return results;
}

std::vector<float> extremum_reference(RankValues ranks, ReduceOp op) {
    const auto is_better = [op](float a, float b) {
        if (a == b) return op == ReduceOp::minimum ? std::signbit(a) : std::signbit(b);
        return op == ReduceOp::minimum ? a < b : a > b;
    };
    std::vector<float> results = ranks.front();
    for (const auto& rank : ranks) {
        for (std::size_t i = 0; i < results.size(); ++i) {
            if (std::isnan(rank[i])) results[i] = std::numeric_limits<float>::quiet_NaN();
            if (!std::isnan(results[i]) && is_better(rank[i], results[i])) results[i] = rank[i];
        }
    }
    return results;
}

std::vector<double> fixed32_bounds(RankValues ranks, ReduceOp op, std::size_t chunk_elements) {
    const std::size_t count = ranks.front().size();
    const auto world_size = static_cast<double>(ranks.size());
    std::vector<double> bounds;
    for (std::size_t begin = 0; begin < count; begin += chunk_elements) {
        const std::size_t end = std::min(count, begin + chunk_elements);
        std::uint32_t largest_bits = 0;
        for (const auto& rank : ranks)
            for (std::size_t i = begin; i < end; ++i)
                largest_bits = std::max(largest_bits, magnitude_bits(rank[i]));
        if (largest_bits == 0 || largest_bits >= infinity_bits) {
            bounds.push_back(largest_bits == 0 ? 0 : std::numeric_limits<double>::infinity());
            continue;
        }
        const auto largest = std::bit_cast<float>(largest_bits);
        const double off = fixed32_half_unit(largest, ranks.size()) * world_size;
        // Rounding moves a result by half of 2^-23 of it, or by half the smallest subnormal; two
        // are.
        const double largest_sum = static_cast<double>(largest) * world_size + off;
        const double sum_bound = off + largest_sum * std::numeric_limits<float>::epsilon();
        bounds.push_back(sum_bound / divisor_of(ranks, op) +
                         static_cast<double>(std::numeric_limits<float>::denorm_min()));
    }
    return bounds;
}

}  // namespace sumwire::apps
