// The accumulator against MPFR.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "apps/support/exact_accumulator.h"
#include "tests/unit/apps/real.h"

namespace sumwire::apps {
namespace {

std::uint32_t bits_of(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

void expect_as_mpfr(const std::vector<float>& values) {
    ExactAccumulator sum;
    Real real;
    for (const float value : values) {
        sum.add(value);
        real.add(value);
    }
    for (const std::uint32_t divisor : {1U, 2U, 3U, 4U, 7U, 1000U, 1024U}) {
        // MPFR gives a zero the sign of its first operand.
        const float expected = real.quotient(divisor);
        EXPECT_EQ(bits_of(sum.rounded(divisor)), bits_of(expected))
            << values.size() << " values, divided by " << divisor;
    }
}

TEST(ExactAccumulator, KeepsWhatFloatsWouldLose) {
    expect_as_mpfr({1e30F, 1.0F, -1e30F});
    expect_as_mpfr({0x1p127F, 0x1p-149F, -0x1p127F});
    expect_as_mpfr({0.1F, 0.2F, 0.3F});
}

TEST(ExactAccumulator, RoundsTiesToEven) {
    expect_as_mpfr({0x1p24F, 1.0F});
    expect_as_mpfr({0x1.000002p24F, 1.0F});
    expect_as_mpfr({0x1p24F, 1.0F, 0x1p-149F});
    expect_as_mpfr({-0x1p24F, -1.0F, 0x1p-149F});
}

TEST(ExactAccumulator, RoundsSubnormalsAndOverflow) {
    constexpr float least = std::numeric_limits<float>::denorm_min();
    constexpr float largest = std::numeric_limits<float>::max();
    expect_as_mpfr({least});
    expect_as_mpfr({least, least, least});
    expect_as_mpfr({-least});
    expect_as_mpfr({0x1p-126F, -least});
    expect_as_mpfr({largest, largest});
    expect_as_mpfr({largest, 0x1p102F});
    expect_as_mpfr({largest, 0x1p103F});
    expect_as_mpfr({-largest, -0x1p103F});
    expect_as_mpfr({largest, largest, -largest});
}

TEST(ExactAccumulator, ZeroIsPositive) {
    for (const std::vector<float>& values :
         std::vector<std::vector<float>>{{}, {-0.0F}, {-0.0F, -0.0F}, {1.5F, -1.5F}}) {
        ExactAccumulator sum;
        for (const float value : values)
            sum.add(value);
        EXPECT_EQ(bits_of(sum.rounded(1)), 0U);
        EXPECT_EQ(bits_of(sum.rounded(3)), 0U);
    }
}

class RandomSums : public testing::TestWithParam<unsigned> {};

TEST_P(RandomSums, AreAsMpfrHasThem) {
    std::mt19937 random(GetParam());
    for (int round = 0; round < 2000; ++round) {
        std::vector<float> values(1 + random() % 9);
        // Near each other, so that sums cancel, or anywhere.
        const bool near = random() % 2 == 0;
        const std::uint32_t exponent = random() % 255;
        for (float& value : values) {
            const auto own = static_cast<std::uint32_t>(
                near ? std::min(254UL, exponent + random() % 4) : random() % 255);
            value = std::bit_cast<float>(static_cast<std::uint32_t>(random() & 0x807fffffU) |
                                         own << 23U);
        }
        if (random() % 4 == 0) values.push_back(-values.front());
        expect_as_mpfr(values);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSums, testing::Range(1U, 5U));

}  // namespace
}  // namespace sumwire::apps
