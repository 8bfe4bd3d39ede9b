#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

#include "gpu/codec/bitmap.h"

namespace sumwire::gpu {
namespace {

std::vector<float> some_zeros(std::uint32_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<float> values(count);
    for (float& value : values) {
        switch (random() % 4) {
            case 0:
                value = -0.0f;
                break;
            case 1:
                value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
                break;
            case 2:
                value = 0x1p-149f;
                break;
            default:
                value = 0.0f;
        }
    }
    return values;
}

bool counts_as_value(float value, MinusZero minus_zero) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return bits != 0 && (minus_zero == MinusZero::is_value || bits != 0x8000'0000);
}

class Bitmap : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(Bitmap, IndexGatherAndScatterAgreeWithPlainLoops) {
    const std::uint32_t count = GetParam();
    // One float in, so that blocks are not aligned.
    const std::vector<float> memory = some_zeros(count + 1, count);
    const std::span<const float> values = std::span(memory).subspan(1);
    for (const MinusZero minus_zero : {MinusZero::is_zero, MinusZero::is_value}) {
        std::vector<std::uint32_t> expected(blocks_of(count));
        std::vector<std::uint32_t> positions;
        for (std::uint32_t i = 0; i < count; ++i) {
            if (!counts_as_value(values[i], minus_zero)) continue;
            expected[i / 32] |= 1u << i % 32;
            positions.push_back(i);
        }
        std::vector<std::uint32_t> index(blocks_of(count), 0xdeadbeef);
        index_values(values, minus_zero, index);
        EXPECT_EQ(index, expected);
        ASSERT_EQ(population(index), positions.size());

        std::vector<std::uint32_t> listed(positions.size());
        list_positions(index, listed);
        EXPECT_EQ(listed, positions);

        std::vector<float> packed(positions.size());
        gather(values, index, packed);
        std::vector<float> back(count, 7.0f);
        scatter(packed, index, back);
        for (std::uint32_t i = 0; i < count; ++i) {
            const bool there = counts_as_value(values[i], minus_zero);
            const auto bits = there ? std::bit_cast<std::uint32_t>(values[i]) : 0u;
            EXPECT_EQ(std::bit_cast<std::uint32_t>(back[i]), bits);
        }
    }
}

TEST_P(Bitmap, FullIndexHasNoBitsBeyondTheCount) {
    const std::uint32_t count = GetParam();
    std::vector<std::uint32_t> all(blocks_of(count));
    index_all(count, all);
    EXPECT_EQ(population(all), count);
    EXPECT_TRUE(is_union_of(all, all, count));
    const std::vector<std::uint32_t> none(blocks_of(count));
    EXPECT_TRUE(is_union_of(all, none, count));
    EXPECT_TRUE(is_union_of(none, none, count));
    EXPECT_FALSE(is_union_of(none, all, count));
    if (count % 32 != 0) {
        all.back() |= 1u << count % 32;
        EXPECT_FALSE(is_union_of(all, none, count));
    }
}

INSTANTIATE_TEST_SUITE_P(Counts, Bitmap,
                         ::testing::Values(1u, 2u, 31u, 32u, 33u, 63u, 64u, 100u, 1023u, 4096u,
                                           65'535u, 65'536u));

}  // namespace
}  // namespace sumwire::gpu
