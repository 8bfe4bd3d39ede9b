// Exact reference sums where floats end, tie, cancel or lie far apart, against MPFR.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "apps/support/reference_sum.h"
#include "tests/unit/apps/real.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace sumwire::apps {
namespace {

using Ranks = std::vector<std::vector<float>>;
using Random = std::mt19937;

std::uint32_t bits_of(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

float from_bits(std::uint64_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

float with_exponent(Random& random, std::uint32_t lowest, std::uint32_t count) {
    const std::uint64_t rest = random() & 0x807fffffU;
    return from_bits(rest | (lowest + random() % count) << 23U);
}

struct Family {
    const char* name;
    std::function<float(Random&)> draw;
};

const Family nearly_subnormal{"nearly subnormal",
                              [](Random& random) { return with_exponent(random, 0, 3); }};

const Family families[] = {
    nearly_subnormal,
    {"any bits", [](Random& random) { return from_bits(random()); }},
    {"finite", [](Random& random) { return with_exponent(random, 0, 255); }},
    {"subnormal", [](Random& random) { return with_exponent(random, 0, 1); }},
    {"near overflow", [](Random& random) { return with_exponent(random, 252, 3); }},
    {"65 binades", [](Random& random) { return with_exponent(random, 100, 65); }},
    {"66 binades", [](Random& random) { return with_exponent(random, 100, 66); }},
    // Few bits far apart, so that sums fall on ties and just beside them.
    {"ties",
     [](Random& random) {
         const int place = static_cast<int>(random() % 4) * 24 - static_cast<int>(random() % 3);
         return std::ldexp(random() % 2 == 0 ? 1.0F : -1.0F, place);
     }},
    {"tiny ties",
     [](Random& random) {
         const std::uint64_t sign = random() % 2;
         return from_bits(sign << 31U | random() % 4);
     }},
};

Ranks draw(const Family& family, std::size_t world_size, std::size_t elements, unsigned seed) {
    Random random(seed);
    Ranks ranks(world_size, std::vector<float>(elements));
    for (auto& rank : ranks)
        for (float& value : rank)
            value = random() % 4 == 0 ? 0.0F : family.draw(random);
    if (world_size > 1)
        for (std::size_t i = 0; i < elements; i += 5)
            ranks[world_size - 1][i] = -ranks[0][i];
    return ranks;
}

// Of NaN and infinities what they sum up to, of the others the rounded real sum.
float expected(const Ranks& ranks, std::size_t element, std::size_t divisor) {
    Real real;
    float special = 0;
    bool finite = true;
    for (const auto& rank : ranks) {
        const float value = rank[element];
        if (std::isfinite(value)) {
            real.add(value);
        } else {
            finite = false;
            special += value;
        }
    }
    if (finite) return real.quotient(divisor);
    return std::isnan(special) ? std::numeric_limits<float>::quiet_NaN() : special;
}

void expect_rounded(const Ranks& ranks, const std::vector<float>& results, std::size_t divisor) {
    for (std::size_t i = 0; i < results.size(); ++i)
        ASSERT_EQ(bits_of(results[i]), bits_of(expected(ranks, i, divisor))) << "element " << i;
}

TEST(ReferenceExtremes, AreRoundedCorrectly) {
    for (const auto& family : families) {
        for (std::size_t world_size = 1; world_size <= 9; ++world_size) {
            SCOPED_TRACE(family.name + std::string(", ranks: ") + std::to_string(world_size));
            const auto ranks = draw(family, world_size, 300, 11);
            expect_rounded(ranks, exact_reference(ranks, ReduceOp::sum), 1);
            expect_rounded(ranks, exact_reference(ranks, ReduceOp::average), world_size);
        }
    }
}

TEST(ReferenceExtremes, CarryOverManyRanks) {
    for (const float value : {std::numeric_limits<float>::max(), -0x1p-149F, 0x1.fffffep-1F}) {
        const Ranks ranks(1024, {value});
        expect_rounded(ranks, exact_reference(ranks, ReduceOp::sum), 1);
        expect_rounded(ranks, exact_reference(ranks, ReduceOp::average), 1024);
    }
}

TEST(ReferenceExtremes, DoNotMindThatSubnormalsAreFlushed) {
#if defined(__SSE__)
    const auto ranks = draw(nearly_subnormal, 5, 2000, 13);
    constexpr unsigned flush_and_ignore = 0x8040;
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | flush_and_ignore);
    const auto sums = exact_reference(ranks, ReduceOp::sum);
    const auto averages = exact_reference(ranks, ReduceOp::average);
    _mm_setcsr(before);
    expect_rounded(ranks, sums, 1);
    expect_rounded(ranks, averages, 5);
#else
    GTEST_SKIP() << "this processor has no such mode; run on x86-64";
#endif
}

}  // namespace
}  // namespace sumwire::apps
