#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "gpu/codec/exact.h"

namespace sumwire::gpu {
namespace {

using Block = std::array<float, block_elements>;
constexpr float infinity = std::numeric_limits<float>::infinity();

BlockRange range_of_values(std::initializer_list<float> values) {
    Block block{};
    std::uint32_t elements = 0;
    std::uint32_t i = 0;
    for (const float value : values) {
        if (value != 0) elements |= 1u << i;
        block[i++] = value;
    }
    return range_of(block.data(), elements);
}

struct RangeCase {
    std::initializer_list<float> values;
    unsigned largest;
    unsigned low;  // 255 - byte 1
};

TEST(ExactRanges, AreExponentsOfTheLargestValueAndTheLowestBit) {
    const RangeCase cases[] = {
        {{0.0f}, 0, 255},
        // 1 = 2^(low - 150)
        {{1.0f}, 127, 150},
        {{-3.0f, 0.75f}, 128, 148},
        {{0x1.000002p0f}, 127, 127},
        {{0x1p-149f}, 0, 1},
        {{0x1p-126f}, 1, 24},
        {{0x1p127f, 0x1p-149f}, 254, 1},
        // The lowest bit is above what a byte tells, which loses nothing but bytes.
        {{0x1p127f}, 254, 255},
        {{infinity}, 255, 255},
        {{infinity, 2.0f}, 255, 151},
    };
    for (const RangeCase& c : cases) {
        const BlockRange range = range_of_values(c.values);
        EXPECT_EQ(range.largest, c.largest);
        EXPECT_EQ(255u - range.lowest, c.low);
    }
}

TEST(ExactRanges, ShapesHoldEveryValue) {
    EXPECT_EQ(shape_of({0, 0})->bits, 0u);
    const auto one = shape_of(range_of_values({1.0f}));
    EXPECT_EQ(one->low, 150u);
    EXPECT_EQ(one->bits, 1u);
    const auto widest = shape_of(range_of_values({0x1p127f, 0x1p-149f}));
    EXPECT_EQ(widest->bits, max_field_bits);
    const auto flagged = shape_of(range_of_values({infinity, 2.0f}));
    EXPECT_TRUE(flagged->flagged);
    EXPECT_EQ(flagged->bits, 254u + 24 - 151);
    EXPECT_TRUE(shape_of(range_of_values({infinity})));
    EXPECT_TRUE(shape_of(range_of_values({0x1p127f})));
    // A lowest bit below all floats, or above the largest value.
    EXPECT_FALSE(shape_of({127, 255}));
    EXPECT_FALSE(shape_of({100, 255 - 130}));
    EXPECT_FALSE(shape_of({100, 0}));
}

BlockShape shape(unsigned low, unsigned bits, bool flagged = false) {
    return {static_cast<std::uint16_t>(low), static_cast<std::uint16_t>(bits), flagged};
}

TEST(ExactLayout, DigitsHoldTheIntegerAndFollowOneAnother) {
    for (const std::uint32_t world_size : {1u, 2u, 4u, 5u, 100u, 1024u}) {
        const ExactLayout layout(world_size);
        const unsigned carry = carry_bits(world_size);
        for (unsigned bits = 1; bits <= max_field_bits; ++bits) {
            const Digits& digits = layout.digits(shape(1, bits));
            unsigned payload = 0;
            unsigned width = 0;
            for (unsigned k = 0; k < digits.count; ++k) {
                EXPECT_EQ(digits.digits[k].offset, payload);
                EXPECT_GT(digits.digits[k].width, carry);
                if (k > 0) {
                    EXPECT_LE(digits.digits[k].width, digits.digits[k - 1].width);
                }
                payload += digits.digits[k].width - carry;
                width += digits.digits[k].width;
            }
            // The integer, and 2^bits on top of it.
            EXPECT_GE(payload, bits + 1);
            EXPECT_LE(digits.digits[digits.count - 1].offset, bits);
            EXPECT_EQ(layout.words(shape(1, bits), 0), 0u);
            EXPECT_EQ(layout.words(shape(1, bits), 32), width);
            for (unsigned n = 1; n <= block_elements; ++n) {
                const unsigned words = layout.words(shape(1, bits), n);
                EXPECT_GE(words * 32, n * (bits + 1));
                EXPECT_EQ(layout.words(shape(1, bits, true), n), words + n);
            }
        }
    }
    // Four ranks carry two bits: 24 and one of sign make 27 of a word's 32.
    const ExactLayout four(4);
    EXPECT_EQ(four.words(shape(100, 24), 1), 1u);
    EXPECT_EQ(four.words(shape(100, 24), 2), 2u);
    // 13 bits: 16 with sign and carry.
    EXPECT_EQ(four.words(shape(100, 13), 31), 16u);
    EXPECT_EQ(four.words(shape(100, 13), 32), 16u);
    // 31 with the sign: one digit of 30, and one of 1 in four bits.
    EXPECT_EQ(four.words(shape(100, 30), 32), 36u);
    EXPECT_EQ(four.words(shape(100, 30), 1), 2u);
}

// Adds the encodings of several blocks by hand; the sums fit doubles.
TEST(ExactDigits, SumsOfSmallIntegersForEveryWidthAndElementCount) {
    std::mt19937_64 random(3);
    for (unsigned bits = 1; bits <= 24; ++bits) {
        for (const std::uint32_t world_size : {1u, 2u, 3u, 9u, 64u}) {
            const ExactLayout layout(world_size);
            const auto elements = static_cast<std::uint32_t>(random() | 1);
            const auto n = static_cast<std::uint32_t>(std::popcount(elements));
            // Unit 1: values are integers of up to `bits` bits.
            const BlockShape integers = shape(150, bits);
            std::vector<std::uint32_t> sum(layout.words(integers, n) + exact_slack_words);
            std::vector<std::uint32_t> words(sum.size());
            std::array<double, block_elements> expected{};
            for (std::uint32_t r = 0; r < world_size; ++r) {
                Block block{};
                for (unsigned i = 0; i < block_elements; ++i) {
                    const auto magnitude = static_cast<double>(random() & ((1u << bits) - 1));
                    const double value = random() % 2 == 0 ? magnitude : -magnitude;
                    block[i] = static_cast<float>(value);
                    expected[i] += value;
                }
                encode_exact(block, {&elements, 1}, {&integers, 1}, layout, words);
                for (std::size_t w = 0; w < sum.size(); ++w)
                    sum[w] += words[w];
            }
            std::array<float, 2 * block_elements> results{};
            ASSERT_TRUE(decode_exact(sum, {&elements, 1}, {&integers, 1}, layout, 1,
                                     Rounding::nearest, results));
            unsigned next = 0;
            for (unsigned i = 0; i < block_elements; ++i) {
                if ((elements >> i & 1) == 0) continue;
                EXPECT_EQ(results[next++], static_cast<float>(expected[i]));
            }
        }
    }
}

}  // namespace
}  // namespace sumwire::gpu
