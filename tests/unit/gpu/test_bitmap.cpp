#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

#include "gpu/codec/bitmap.h"
#include "gpu/codec/block_index.h"
#include "gpu/codec/compact.h"
#include "gpu/codec/scan.h"

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

TEST_P(Bitmap, ScanGatherAndScatterAgreeWithPlainLoops) {
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
        const Scan seen = scan_values(values, minus_zero, index);
        EXPECT_EQ(index, expected);
        std::uint32_t largest = 0;
        bool minus_zeros = false;
        for (const float value : values) {
            const auto bits = std::bit_cast<std::uint32_t>(value);
            largest = std::max(largest, bits & 0x7fff'ffff);
            minus_zeros |= bits == 0x8000'0000;
        }
        EXPECT_EQ(seen.largest, largest);
        EXPECT_EQ(seen.minus_zeros, minus_zeros);
        ASSERT_EQ(population(index), positions.size());

        std::vector<std::uint32_t> listed(positions.size());
        list_positions(index, listed);
        EXPECT_EQ(listed, positions);

        std::vector<float> packed(positions.size() + compact_slack);
        gather(values, index, packed.data());
        std::vector<float> back(count, 7.0f);
        scatter(packed.data(), index, back);
        for (std::uint32_t i = 0; i < count; ++i) {
            const bool there = counts_as_value(values[i], minus_zero);
            const float value = there ? values[i] : 7.0f;
            EXPECT_EQ(std::bit_cast<std::uint32_t>(back[i]), std::bit_cast<std::uint32_t>(value));
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

TEST_P(Bitmap, BothLevelsOfAnIndexMakeItUpAgain) {
    const std::uint32_t count = GetParam();
    std::mt19937_64 random(count);
    std::vector<std::uint32_t> index(blocks_of(count));
    for (std::uint32_t i = 0; i < count; ++i) {
        // Blocks that are empty, full but for one element, or scattered.
        const bool set = i / 32 % 3 == 1 ? i % 32 != 7 : i / 32 % 3 == 2 && random() % 4 == 0;
        if (set) index[i / 32] |= 1u << i % 32;
    }
    std::vector<std::uint32_t> words(2 * std::size_t{block_set_words(count)}, 0xdeadbeef);
    const BlockLevel level = BlockLevel::in(words);
    summarise(index, count, level);
    std::uint32_t partial = 0;
    for (std::uint32_t b = 0; b < index.size(); ++b) {
        const std::uint32_t size = std::min(32u, count - b * 32);
        const auto set = static_cast<std::uint32_t>(std::popcount(index[b]));
        const bool full = set != 0 && set + 1 >= size;
        EXPECT_EQ(level.occupied[b / 32] >> b % 32 & 1, set != 0 ? 1u : 0u);
        EXPECT_EQ(level.full[b / 32] >> b % 32 & 1, full ? 1u : 0u);
        partial += set != 0 && !full ? 1 : 0;
    }
    EXPECT_EQ(partial_blocks(level), partial);
    EXPECT_TRUE(level_is_possible(level, index, count));

    std::vector<std::uint32_t> second(partial);
    take_partial(index, level, second);
    std::vector<std::uint32_t> back(index.size(), 0xdeadbeef);
    put_together(level, second, count, back);
    for (std::uint32_t b = 0; b < index.size(); ++b) {
        const std::uint32_t possible = b + 1 == index.size() ? last_block_mask(count) : full_block;
        const bool full = (level.full[b / 32] >> b % 32 & 1) != 0;
        EXPECT_EQ(back[b], full ? possible : index[b]);
    }
    EXPECT_TRUE(is_union_of(back, index, count));
}

TEST(BlockLevels, ThoseThatNoIndexHasAreTold) {
    const std::uint32_t count = 40 * 32 + 5;
    std::vector<std::uint32_t> index(blocks_of(count));
    index[3] = full_block;
    index[4] = 1;
    std::vector<std::uint32_t> words(2 * std::size_t{block_set_words(count)});
    const BlockLevel level = BlockLevel::in(words);
    const auto possible_after = [&](auto change) {
        summarise(index, count, level);
        change();
        return level_is_possible(level, index, count);
    };
    EXPECT_TRUE(possible_after([] {}));
    EXPECT_TRUE(possible_after([&] { level.occupied[0] |= 1; }));
    EXPECT_TRUE(possible_after([&] { level.full[0] |= 1u << 4; }));
    EXPECT_FALSE(possible_after([&] { level.full[0] |= 1; }));
    EXPECT_FALSE(possible_after([&] { level.occupied[0] = 1u << 3; }));
    EXPECT_FALSE(possible_after([&] { level.full[0] = 0; }));
    EXPECT_FALSE(possible_after([&] { level.occupied[1] |= 1u << 9; }));
}

INSTANTIATE_TEST_SUITE_P(Counts, Bitmap,
                         ::testing::Values(1u, 2u, 31u, 32u, 33u, 63u, 64u, 100u, 1023u, 4096u,
                                           65'535u, 65'536u));

}  // namespace
}  // namespace sumwire::gpu
