#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gpu/codec/divide.h"
#include "gpu/codec/float_bits.h"
#include "gpu/codec/half_floats.h"
#include "tests/unit/gpu/support/references.h"

namespace sumwire::gpu::testing {
namespace {

float reference(bool negative, const Magnitude& m, std::uint32_t divisor, Rounding rounding) {
    Real value;
    mpfr_set_uj(value, m.significand, MPFR_RNDN);
    // A sticky magnitude stands for anything above its significand; a little will do.
    if (m.sticky) mpfr_add_d(value, value, 0x1p-20, MPFR_RNDN);
    mpfr_mul_2si(value, value, m.exponent, MPFR_RNDN);
    mpfr_div_ui(value, value, divisor, MPFR_RNDN);
    if (negative) mpfr_neg(value, value, MPFR_RNDN);
    if (mpfr_zero_p(static_cast<mpfr_ptr>(value)) != 0) return 0.0f;
    if (rounding == Rounding::nearest) return mpfr_get_flt(value, MPFR_RNDN);
    const float truncated = mpfr_get_flt(value, MPFR_RNDZ);
    const bool inexact = mpfr_cmp_d(value, truncated) != 0;
    const auto bits = std::bit_cast<std::uint32_t>(truncated) | (inexact ? 1u : 0u);
    return std::bit_cast<float>(bits | (negative ? sign_bit : 0));
}

TEST(FloatBits, RoundsAsRealArithmeticDoes) {
    std::mt19937_64 random(1);
    for (int trial = 0; trial < 200'000; ++trial) {
        Magnitude m;
        m.significand = random() >> random() % 64;
        if (trial % 2 == 0) {
            // Ties, and their neighbours.
            m.significand = ((random() & 0x1ff'ffff) | 1) << random() % 39;
            m.significand += random() % 3 - 1;
        }
        m.sticky = m.significand >= 1u << 30 && random() % 2 == 0;
        m.exponent = static_cast<int>(random() % 330) - 210;
        const std::uint32_t divisor =
            trial % 3 == 0 ? 1 : 1 + static_cast<std::uint32_t>(random() % 1024);
        const bool negative = random() % 2 == 0;
        const Rounding rounding = trial % 5 == 0 ? Rounding::odd : Rounding::nearest;
        const float expected = reference(negative, m, divisor, rounding);
        const float actual = round_quotient(negative, m, divisor, rounding);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(actual), std::bit_cast<std::uint32_t>(expected))
            << actual << " " << expected << " from " << m.significand << " * 2^" << m.exponent
            << (m.sticky ? " sticky" : "") << " / " << divisor;
    }
}

TEST(FloatBits, DividesAsTheProcessorDoes) {
    std::mt19937_64 random(2);
    for (int trial = 0; trial < 20'000; ++trial) {
        std::vector<float> values(1 + random() % 19);
        for (float& value : values) {
            auto bits = static_cast<std::uint32_t>(random());
            if (trial % 2 == 0) bits &= 0x87ff'ffff;
            value = std::bit_cast<float>(bits);
        }
        const auto divisor = 1 + static_cast<std::uint32_t>(random() % 1024);
        std::vector<float> actual = values;
        divide_floats(actual, divisor, Rounding::nearest);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] /= static_cast<float>(divisor);
        ASSERT_TRUE(same_floats(actual, values));
    }
    std::vector<float> minus_zero = {-0.0f};
    divide_floats(minus_zero, 3, Rounding::nearest);
    EXPECT_TRUE(std::signbit(minus_zero[0]));
}

TEST(FloatBits, DividesToOdd) {
    std::mt19937_64 random(4);
    for (int trial = 0; trial < 50'000; ++trial) {
        auto bits = static_cast<std::uint32_t>(random());
        if (trial % 2 == 0) bits &= 0x87ff'ffff;
        const FloatParts parts = take_apart(std::bit_cast<float>(bits));
        if (!parts.finite() || parts.significand == 0) continue;
        const auto divisor = 1 + static_cast<std::uint32_t>(random() % 1024);
        float actual = std::bit_cast<float>(bits);
        divide_floats({&actual, 1}, divisor, Rounding::odd);
        const Magnitude m{parts.significand, static_cast<int>(parts.scale()) - 150, false};
        const float expected = reference(parts.negative, m, divisor, Rounding::odd);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(actual), std::bit_cast<std::uint32_t>(expected));
    }
}

// The reference: among all values of the type, the nearest, of two the even one.
template <typename Widen>
std::vector<double> all_values_of(Widen widen, unsigned first_special) {
    std::vector<std::uint16_t> narrow(first_special);
    for (unsigned i = 0; i < first_special; ++i)
        narrow[i] = static_cast<std::uint16_t>(i);
    std::vector<float> wide(narrow.size());
    widen(narrow, wide);
    return {wide.begin(), wide.end()};
}

template <typename Widen, typename Narrow>
void check_narrowing(Widen widen, Narrow narrow, unsigned infinity, double beyond) {
    std::vector<double> values = all_values_of(widen, infinity);
    values.push_back(beyond);  // the next power of two stands for infinity
    std::mt19937_64 random(5);
    for (int trial = 0; trial < 400'000; ++trial) {
        auto bits = static_cast<std::uint32_t>(random());
        if (trial % 2 == 0) {
            // Near the type's own values and the middles between them.
            const auto at = random() % (values.size() - 1);
            const auto near =
                static_cast<float>(trial % 4 == 0 ? values[at] : (values[at] + values[at + 1]) / 2);
            bits =
                std::bit_cast<std::uint32_t>(near) + static_cast<std::uint32_t>(random() % 3) - 1;
        }
        const auto value = std::bit_cast<float>(bits);
        if (std::isnan(value)) continue;
        std::uint16_t actual = 0;
        narrow(std::span(&value, 1), std::span(&actual, 1));
        const double magnitude = std::fabs(static_cast<double>(value));
        unsigned expected = infinity;
        if (magnitude < beyond) {
            const auto above = std::ranges::upper_bound(values, magnitude);
            const auto below = static_cast<unsigned>(above - values.begin() - 1);
            const double up = *above - magnitude;
            const double down = magnitude - values[below];
            expected = up < down || (up == down && below % 2 == 1) ? below + 1 : below;
        }
        if (std::signbit(value)) expected |= 0x8000;
        ASSERT_EQ(actual, expected) << value;
    }
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::uint16_t actual = 0;
    narrow(std::span(&nan, 1), std::span(&actual, 1));
    EXPECT_GT(actual & 0x7fff, static_cast<int>(infinity));
}

TEST(HalfFloats, NarrowToTheNearest) {
    check_narrowing(widen_bf16, narrow_bf16, 0x7f80, 0x1p128);
    check_narrowing(widen_f16, narrow_f16, 0x7c00, 0x1p16);
}

TEST(HalfFloats, WidenExactly) {
    const std::vector<double> values = all_values_of(widen_f16, 0x7c00);
    for (unsigned i = 0; i < values.size(); ++i) {
        const unsigned exponent = i >> 10;
        const double significand = (i & 0x3ff) + (exponent != 0 ? 1024 : 0);
        EXPECT_EQ(values[i],
                  std::ldexp(significand, static_cast<int>(std::max(exponent, 1u)) - 25));
    }
    const std::uint16_t special[] = {0x7c00, 0xfc00, 0x7e00, 0x8000};
    float wide[4];
    widen_f16(special, wide);
    EXPECT_EQ(wide[0], std::numeric_limits<float>::infinity());
    EXPECT_EQ(wide[1], -std::numeric_limits<float>::infinity());
    EXPECT_TRUE(std::isnan(wide[2]));
    EXPECT_TRUE(std::signbit(wide[3]));
}

TEST(FloatBits, PartsMakeUpTheValue) {
    for (const float value : {1.0f, -1.5f, 0x1p-149f, -0x1.8p-130f, 0x1p-126f,
                              std::numeric_limits<float>::max(), 0.0f}) {
        const FloatParts parts = take_apart(value);
        const double magnitude =
            std::ldexp(parts.significand, static_cast<int>(parts.scale()) - 150);
        EXPECT_EQ(parts.negative ? -magnitude : magnitude, value);
    }
    EXPECT_FALSE(take_apart(std::numeric_limits<float>::infinity()).finite());
    EXPECT_EQ(take_apart(std::numeric_limits<float>::infinity()).significand, 0u);
    EXPECT_NE(take_apart(std::numeric_limits<float>::quiet_NaN()).significand, 0u);
}

}  // namespace
}  // namespace sumwire::gpu::testing
