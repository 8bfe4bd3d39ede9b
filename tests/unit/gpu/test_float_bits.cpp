#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "gpu/codec/float_bits.h"
#include "tests/unit/gpu/support/references.h"

namespace sumwire::gpu::testing {
namespace {

float reference(bool negative, const Magnitude& m, std::uint32_t divisor) {
    Real value;
    mpfr_set_uj(value, m.significand, MPFR_RNDN);
    // A sticky magnitude stands for anything above its significand; a little will do.
    if (m.sticky) mpfr_add_d(value, value, 0x1p-20, MPFR_RNDN);
    mpfr_mul_2si(value, value, m.exponent, MPFR_RNDN);
    mpfr_div_ui(value, value, divisor, MPFR_RNDN);
    if (negative) mpfr_neg(value, value, MPFR_RNDN);
    if (mpfr_zero_p(static_cast<mpfr_ptr>(value)) != 0) return 0.0f;
    return mpfr_get_flt(value, MPFR_RNDN);
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
        const float expected = reference(negative, m, divisor);
        const float actual = round_quotient(negative, m, divisor);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(actual), std::bit_cast<std::uint32_t>(expected))
            << actual << " " << expected << " from " << m.significand << " * 2^" << m.exponent
            << (m.sticky ? " sticky" : "") << " / " << divisor;
    }
}

TEST(FloatBits, DividesAsTheProcessorDoes) {
    std::mt19937_64 random(2);
    for (int trial = 0; trial < 200'000; ++trial) {
        auto bits = static_cast<std::uint32_t>(random());
        if (trial % 2 == 0) bits &= 0x87ff'ffff;
        const auto value = std::bit_cast<float>(bits);
        const auto divisor = 1 + static_cast<std::uint32_t>(random() % 1024);
        const float expected = value / static_cast<float>(divisor);
        const float actual = divide(value, divisor);
        if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(actual));
        } else {
            ASSERT_EQ(std::bit_cast<std::uint32_t>(actual), std::bit_cast<std::uint32_t>(expected));
        }
    }
    EXPECT_TRUE(std::signbit(divide(-0.0f, 3)));
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
