#include "tests/unit/gpu/support/references.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace sumwire::gpu::testing {

namespace {

// True if the sum is exact, as it must be.
bool sum_element(Real& sum, const Gradients& gradients, std::size_t i) {
    mpfr_set_zero(sum, 1);
    bool exact = true;
    for (const auto& gradient : gradients) {
        Real term;
        mpfr_set_flt(term, gradient[i], MPFR_RNDN);
        exact &= mpfr_add(sum, sum, term, MPFR_RNDN) == 0;
    }
    return exact;
}

unsigned rounded_log2(std::size_t world_size) {
    unsigned c = 0;
    while ((std::size_t{1} << c) < world_size)
        ++c;
    return c;
}

}  // namespace

std::vector<float> exact_reference(const Gradients& gradients, Reduction reduction) {
    std::vector<float> results;
    Real sum;
    Real quotient;
    for (std::size_t i = 0; i < gradients[0].size(); ++i) {
        EXPECT_TRUE(sum_element(sum, gradients, i));
        if (mpfr_zero_p(static_cast<mpfr_ptr>(sum)) != 0) {
            results.push_back(0.0f);
            continue;
        }
        if (reduction == Reduction::sum) {
            results.push_back(mpfr_get_flt(sum, MPFR_RNDN));
            continue;
        }
        // Quotients by up to 1024 of 400 bits cannot lie so close to a tie of two floats that this
        // first rounding would matter.
        mpfr_div_ui(quotient, sum, static_cast<unsigned long>(gradients.size()), MPFR_RNDN);
        results.push_back(mpfr_get_flt(quotient, MPFR_RNDN));
    }
    return results;
}

std::vector<float> float_reference(const Gradients& gradients, Reduction reduction) {
    std::vector<float> results = gradients[0];
    for (std::size_t r = 1; r < gradients.size(); ++r) {
        for (std::size_t i = 0; i < results.size(); ++i)
            results[i] += gradients[r][i];
    }
    if (reduction == Reduction::average) {
        for (float& result : results)
            result /= static_cast<float>(gradients.size());
    }
    return results;
}

std::uint32_t union_reference(const Gradients& gradients) {
    std::uint32_t size = 0;
    for (std::size_t i = 0; i < gradients[0].size(); ++i) {
        size += std::ranges::any_of(gradients, [&](const auto& g) { return g[i] != 0; }) ? 1 : 0;
    }
    return size;
}

std::uint32_t packed_union_reference(const Gradients& gradients) {
    std::uint32_t size = 0;
    const std::size_t count = gradients[0].size();
    for (std::size_t first = 0; first < count; first += 32) {
        const std::size_t end = std::min(first + 32, count);
        Gradients block;
        bool full = false;
        for (const auto& g : gradients) {
            const auto zeros = std::count(g.begin() + static_cast<std::ptrdiff_t>(first),
                                          g.begin() + static_cast<std::ptrdiff_t>(end), 0.0f);
            full |= zeros <= 1 && static_cast<std::size_t>(zeros) < end - first;
            block.emplace_back(g.begin() + static_cast<std::ptrdiff_t>(first),
                               g.begin() + static_cast<std::ptrdiff_t>(end));
        }
        size += full ? static_cast<std::uint32_t>(end - first) : union_reference(block);
    }
    return size;
}

::testing::AssertionResult same_floats(const std::vector<float>& actual,
                                       const std::vector<float>& expected) {
    if (actual.size() != expected.size()) return ::testing::AssertionFailure() << "sizes differ";
    for (std::size_t i = 0; i < actual.size(); ++i) {
        if (std::isnan(actual[i]) && std::isnan(expected[i])) continue;
        if (std::bit_cast<std::uint32_t>(actual[i]) != std::bit_cast<std::uint32_t>(expected[i])) {
            return ::testing::AssertionFailure()
                   << "element " << i << " is " << actual[i] << " instead of " << expected[i];
        }
    }
    return ::testing::AssertionSuccess();
}

::testing::AssertionResult within_fixed32_bound(const std::vector<float>& actual,
                                                const Gradients& gradients, Reduction reduction) {
    float largest = 0;
    bool finite = true;
    for (const auto& gradient : gradients) {
        for (const float value : gradient) {
            finite &= std::isfinite(value);
            largest = std::max(largest, std::fabs(value));
        }
    }
    if (!finite) {
        const bool all = std::ranges::all_of(actual, [](float v) { return std::isnan(v); });
        return all ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << "not all NaN";
    }
    const int power = largest == 0 ? -126 : std::max(std::ilogb(largest), -126);
    const double world = static_cast<double>(gradients.size());
    const double half_unit =
        std::ldexp(1.0, power - 30 + static_cast<int>(rounded_log2(gradients.size())));
    const double bound = reduction == Reduction::sum ? world * half_unit : half_unit;
    Real sum;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        sum_element(sum, gradients, i);
        if (reduction == Reduction::average) {
            mpfr_div_ui(sum, sum, static_cast<unsigned long>(gradients.size()), MPFR_RNDN);
        }
        if (std::isinf(actual[i])) {
            if (std::fabs(mpfr_get_d(sum, MPFR_RNDN)) + bound >= 0x1.ffffffp127) continue;
            return ::testing::AssertionFailure() << "element " << i << " is infinite";
        }
        mpfr_sub_d(sum, sum, actual[i], MPFR_RNDN);
        const double error = std::fabs(mpfr_get_d(sum, MPFR_RNDN));
        const double ulp =
            std::ldexp(1.0, std::max(actual[i] == 0 ? -126 : std::ilogb(actual[i]), -126) - 23);
        if (error > bound + ulp / 2) {
            return ::testing::AssertionFailure() << "element " << i << " is off by " << error
                                                 << ", more than " << bound << " + " << ulp / 2;
        }
    }
    return ::testing::AssertionSuccess();
}

}  // namespace sumwire::gpu::testing
