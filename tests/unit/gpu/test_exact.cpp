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

TEST(ExactLayout, WordsAreCloseToTheBits) {
    for (const std::uint32_t world_size : {1u, 2u, 4u, 5u, 100u, 1024u}) {
        const ExactLayout layout(world_size);
        const unsigned carry = carry_bits(world_size);
        for (unsigned bits = 1; bits <= max_field_bits; ++bits) {
            EXPECT_EQ(layout.words({1, bits, false}, 0), 0u);
            for (unsigned n = 1; n <= block_elements; ++n) {
                const unsigned words = layout.words({1, bits, false}, n);
                // Every piece has its carry; a word ends at most with a gap too small for a piece.
                const unsigned payload = n * (bits + 1);
                EXPECT_GE(words * (32 - carry), payload);
                EXPECT_LE((words - 1) * (32 - carry - min_piece_bits + 1), payload + n * carry);
                EXPECT_EQ(layout.words({1, bits, true}, n), words + n);
            }
        }
    }
    // 24 bits, sign and carry of four ranks: 27 of a word.
    const ExactLayout four(4);
    EXPECT_EQ(four.words({100, 24, false}, 1), 1u);
    EXPECT_EQ(four.words({100, 24, false}, 2), 2u);
    // 13 bits: two fields of 16 a word.
    EXPECT_EQ(four.words({100, 13, false}, 31), 16u);
    EXPECT_EQ(four.words({100, 13, false}, 32), 16u);
    // 30 bits: 33 with sign and carry, hence a piece of 30, and one of 1 with a carry of its own.
    EXPECT_EQ(four.words({100, 30, false}, 1), 2u);
}

// Adds the encodings of several blocks by hand; the sums fit doubles.
TEST(ExactFields, SumsOfSmallIntegersForEveryWidthAndElementCount) {
    std::mt19937_64 random(3);
    for (unsigned bits = 1; bits <= 24; ++bits) {
        for (const std::uint32_t world_size : {1u, 2u, 3u, 9u, 64u}) {
            const ExactLayout layout(world_size);
            const auto elements = static_cast<std::uint32_t>(random() | 1);
            const auto n = static_cast<std::uint32_t>(std::popcount(elements));
            // Unit 1: values are integers of up to `bits` bits.
            const BlockShape shape{150, bits, false};
            std::vector<std::uint32_t> sum(layout.words(shape, n));
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
                ASSERT_TRUE(encode_block(block.data(), elements, shape, layout, words));
                for (std::size_t w = 0; w < sum.size(); ++w)
                    sum[w] += words[w];
            }
            std::array<float, block_elements> results{};
            ASSERT_TRUE(decode_block(sum, n, shape, layout, 1, results.data()));
            unsigned next = 0;
            for (unsigned i = 0; i < block_elements; ++i) {
                if ((elements >> i & 1) == 0) continue;
                EXPECT_EQ(results[next++], static_cast<float>(expected[i]));
            }
        }
    }
}

TEST(ExactFields, ValuesOutOfTheShapeAreNoticed) {
    const ExactLayout layout(2);
    const BlockShape shape{150, 4, false};
    std::vector<std::uint32_t> words(layout.words(shape, 1));
    const auto encodes = [&](float value) {
        Block block{value};
        return encode_block(block.data(), 1, shape, layout, words);
    };
    EXPECT_TRUE(encodes(15.0f));
    EXPECT_TRUE(encodes(-15.0f));
    EXPECT_TRUE(encodes(0.0f));
    EXPECT_FALSE(encodes(16.0f));
    EXPECT_FALSE(encodes(0.5f));
    EXPECT_FALSE(encodes(3.5f));
    EXPECT_FALSE(encodes(1e30f));
    EXPECT_FALSE(encodes(1e-30f));
    EXPECT_FALSE(encodes(infinity));
}

}  // namespace
}  // namespace sumwire::gpu
