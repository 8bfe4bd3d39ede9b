#include "apps/run/verdict.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "apps/support/reference_sum.h"

namespace sumwire::apps {
namespace {

// Elements that share a scale in fixed32, as communicator.h tells.
constexpr std::size_t chunk_elements = 65536;

ReferenceOp reference_op(ReduceOp op) {
    return op == ReduceOp::sum ? ReferenceOp::sum : ReferenceOp::average;
}

bool same_bits(float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

template <typename IsRight>
Verdict compare(std::span<const float> expected, std::span<const float> result, IsRight is_right) {
    Verdict verdict;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (is_right(i)) continue;
        if (verdict.wrong++ == 0) verdict = {1, i, expected[i], result[i]};
    }
    return verdict;
}

}  // namespace

std::span<const float> Judge::exact() {
    if (!exact_) exact_ = exact_reference(gradients_, reference_op(op_));
    return *exact_;
}

std::span<const float> Judge::rank_order() {
    if (!rank_order_) rank_order_ = rank_order_reference(gradients_, reference_op(op_));
    return *rank_order_;
}

std::span<const double> Judge::bounds() {
    if (!bounds_) bounds_ = fixed32_bounds(gradients_, reference_op(op_), chunk_elements);
    return *bounds_;
}

Verdict Judge::judge(Arithmetic arithmetic, std::span<const float> result) {
    if (arithmetic == Arithmetic::fixed32) {
        const auto expected = exact();
        const auto bound = bounds();
        return compare(expected, result, [&](std::size_t i) {
            const double limit = bound[i / chunk_elements];
            const double error = std::fabs(static_cast<double>(result[i]) - expected[i]);
            // A chunk that is not finite has no bound and comes back as NaN.
            return std::isfinite(limit) ? error <= limit : std::isnan(result[i]);
        });
    }
    const auto expected = arithmetic == Arithmetic::exact ? exact() : rank_order();
    return compare(expected, result,
                   [&](std::size_t i) { return same_bits(expected[i], result[i]); });
}

std::optional<std::size_t> find_dissenter(std::span<const std::vector<float>> results) {
    const auto& first = results.front();
    for (std::size_t rank = 1; rank < results.size(); ++rank) {
        const bool same = results[rank].size() == first.size() &&
                          (first.empty() || std::memcmp(results[rank].data(), first.data(),
                                                        first.size() * sizeof(float)) == 0);
        if (!same) return rank;
    }
    return std::nullopt;
}

}  // namespace sumwire::apps
