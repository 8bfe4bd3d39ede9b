// The index as a Bloom filter, and as counters where the network only adds.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/codec/bitmap.h"
#include "gpu/codec/bloom_index.h"
#include "gpu/codec/counters.h"
#include "tests/unit/gpu/support/inputs.h"
#include "tests/unit/gpu/support/references.h"

namespace sumwire::gpu::testing {
namespace {

using Words = std::vector<std::uint32_t>;
using ByteArray = std::vector<std::byte>;

Words random_index(std::uint32_t count, std::uint32_t elements, std::uint64_t seed) {
    std::vector<std::uint32_t> positions(count);
    std::iota(positions.begin(), positions.end(), 0U);
    std::ranges::shuffle(positions, std::mt19937_64(seed));
    Words index(blocks_of(count));
    for (std::uint32_t i = 0; i < elements; ++i)
        index[positions[i] / 32] |= 1U << positions[i] % 32;
    return index;
}

TEST(BloomIndex, LetsEveryElementPassAndFewOthers) {
    for (const std::uint32_t count : {20'000u, 40'001u, chunk_elements}) {
        for (const double density : {0.0005, 0.005, 0.02, 0.04}) {
            const auto elements = static_cast<std::uint32_t>(density * count);
            double passed = 0;
            double bound = 0;
            for (std::uint64_t seed = 1; seed <= 20; ++seed) {
                const BloomShape shape = bloom_shape(elements, count, seed * 0x9e3779b97f4a7c15);
                ASSERT_TRUE(shape.worthwhile());
                EXPECT_LT(shape.words, blocks_of(count));
                const Words index = random_index(count, elements, seed);
                Words filter(shape.words, 0xdeadbeef);
                fill_bloom(shape, index, filter);
                Words candidates(index.size(), 0xdeadbeef);
                bloom_candidates(shape, filter, count, candidates);
                EXPECT_TRUE(is_union_of(candidates, index, count));
                passed += population(candidates) - elements;
                bound += false_positives(elements, count);
            }
            EXPECT_LT(passed, 1.5 * bound) << count << " " << density;
        }
    }
}

// Two ranks' filters, ored, are the filter of both ranks' elements.
TEST(BloomIndex, OredFiltersAreTheUnions) {
    const BloomShape shape = bloom_shape(600, chunk_elements, 7);
    const Words a = random_index(chunk_elements, 300, 1);
    const Words b = random_index(chunk_elements, 300, 2);
    Words both(a.size());
    std::ranges::transform(a, b, both.begin(), std::bit_or<>());
    Words filter_a(shape.words);
    Words filter_b(shape.words);
    Words filter(shape.words);
    fill_bloom(shape, a, filter_a);
    fill_bloom(shape, b, filter_b);
    fill_bloom(shape, both, filter);
    std::ranges::transform(filter_a, filter_b, filter_a.begin(), std::bit_or<>());
    EXPECT_EQ(filter_a, filter);
}

TEST(BloomIndex, IsForSparseChunksOnly) {
    EXPECT_FALSE(bloom_shape(chunk_elements / 10, chunk_elements, 1).worthwhile());
    EXPECT_FALSE(bloom_shape(chunk_elements, chunk_elements, 1).worthwhile());
    EXPECT_FALSE(bloom_shape(3, 20, 1).worthwhile());
    EXPECT_TRUE(bloom_shape(0, chunk_elements, 1).worthwhile());
    EXPECT_FALSE(bloom_shape(0, 2000, 1).worthwhile());
}

// Whole chunks: uniform and so sparse that single words go into the sketch.
TEST(BloomIndex, MakesSparseSketchesSmaller) {
    World world({Codec::sketch, Arithmetic::fixed32, 4});
    for (const std::uint32_t elements : {0u, 1u, 20u, 300u, 1200u}) {
        Gradients gradients(4, std::vector<float>(chunk_elements));
        for (std::uint32_t rank = 0; rank < 4; ++rank) {
            const Words index = random_index(chunk_elements, elements / 2, rank % 2);
            for (std::uint32_t i = 0; i < chunk_elements; ++i) {
                if ((index[i / 32] >> i % 32 & 1) != 0)
                    gradients[rank][i] = static_cast<float>(i % 1000) + 1.0f;
            }
        }
        const std::uint32_t n = union_reference(gradients);
        for (const std::uint32_t expected : {n, n / 2, 2 * n + 3, 0u}) {
            SCOPED_TRACE(::testing::Message() << elements << " " << expected);
            const Outcome outcome = world.reduce(gradients, Reduction::sum, expected);
            ASSERT_EQ(outcome.progress, Progress::done);
            EXPECT_EQ(outcome.union_size, n);
            for (std::uint32_t i = 0; i < chunk_elements; ++i) {
                float sum = 0;
                for (const auto& values : gradients)
                    sum += values[i];
                ASSERT_EQ(outcome.results[0][i], sum) << i;
            }
            if (expected == n && n >= 20) {
                const std::size_t bytes = std::accumulate(
                    outcome.message_bytes.begin(), outcome.message_bytes.end(), std::size_t{0});
                EXPECT_LT(bytes, chunk_elements / 8 + 4 * n);
            }
        }
    }
}

TEST(Counters, OrAndMaximumOfAnyNumberOfRanks) {
    std::mt19937_64 random(3);
    for (const std::uint32_t ranks : {1u, 2u, 3u, 4u, 15u, 16u, 255u}) {
        const unsigned bits = counter_bits(ranks);
        ASSERT_GE(1U << bits, ranks + 1);
        ByteArray expected_or(40);
        ByteArray expected_maximum(4);
        Words or_sum(bit_counter_bytes(40, bits) / 4);
        Words maximum_sum(byte_counter_bytes(4, bits) / 4);
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            ByteArray flags(40);
            ByteArray values(4);
            for (std::byte& byte : flags)
                byte = static_cast<std::byte>(random() & random() & random());
            flags[0] = std::byte{0xff};  // of all ranks: the counters are as full as can be
            flags[1] = std::byte{0};
            for (std::byte& byte : values)
                byte = static_cast<std::byte>(random() % 256);
            values[3] = std::byte{0};
            for (std::size_t i = 0; i < flags.size(); ++i)
                expected_or[i] |= flags[i];
            for (std::size_t i = 0; i < values.size(); ++i)
                expected_maximum[i] = std::max(expected_maximum[i], values[i]);
            Words counters(or_sum.size());
            count_bits(flags, bits, std::as_writable_bytes(std::span(counters)));
            for (std::size_t i = 0; i < counters.size(); ++i)
                or_sum[i] += counters[i];
            counters.resize(maximum_sum.size());
            count_bytes(values, bits, std::as_writable_bytes(std::span(counters)));
            for (std::size_t i = 0; i < maximum_sum.size(); ++i)
                maximum_sum[i] += counters[i];
        }
        ByteArray flags(40);
        or_of(std::as_bytes(std::span(or_sum)), bits, flags);
        EXPECT_EQ(flags, expected_or) << ranks;
        ByteArray values(4);
        maximum_of(std::as_bytes(std::span(maximum_sum)), bits, values);
        EXPECT_EQ(values, expected_maximum) << ranks;
    }
}

class SumsOnly : public ::testing::TestWithParam<std::tuple<Codec, std::uint32_t>> {};

TEST_P(SumsOnly, GivesTheBitsOfTheSameCodecElsewhere) {
    const auto [codec, world_size] = GetParam();
    CodecConfig config{codec, Arithmetic::fixed32, world_size};
    World plain(config);
    config.sums_only = true;
    World sums(config);
    std::unique_ptr<ChunkCodec> one = make_chunk_codec(host_device(), config);
    for (const Pattern pattern : all_patterns) {
        const Gradients gradients =
            make_gradients(Values::gradients, pattern, world_size, 3000, 17);
        for (const std::uint32_t expected : {ChunkTask::unknown_union, 100u}) {
            const Outcome outcome = sums.reduce(gradients, Reduction::sum, expected);
            ASSERT_EQ(outcome.progress, Progress::done);
            EXPECT_EQ(outcome.results, plain.reduce(gradients, Reduction::sum, expected).results);
        }
        std::vector<float> mine = gradients[0];
        one->begin({.values = mine.data(), .count = 3000, .seed = 1, .expected_union = 100});
        for (const Message& message : one->messages())
            EXPECT_EQ(message.combine, Combine::add_i32);
    }
}

INSTANTIATE_TEST_SUITE_P(Codecs, SumsOnly,
                         ::testing::Combine(::testing::Values(Codec::dense, Codec::packed,
                                                              Codec::sketch),
                                            ::testing::Values(1u, 2u, 4u, 20u)));

TEST(SumsOnlyErrors, NameTheRemedy) {
    const auto message = [](const CodecConfig& config) -> std::string {
        try {
            make_chunk_codec(host_device(), config);
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return "no error";
    };
    CodecConfig config{Codec::sketch, Arithmetic::exact, 4};
    config.sums_only = true;
    EXPECT_NE(message(config).find("fixed32"), std::string::npos);
    config.arithmetic = Arithmetic::fixed32;
    config.extrema = true;
    EXPECT_NE(message(config).find("fixed32"), std::string::npos);
    config.extrema = false;
    EXPECT_EQ(message(config), "no error");
    config.world_size = 256;
    EXPECT_NE(message(config).find("255"), std::string::npos);
}

// Whatever comes back: an end, and values that stay as they were unless it is a result.
TEST(SumsOnlyErrors, AnyAnswerEndsTheChunk) {
    std::mt19937_64 random(9);
    for (const Codec codec : {Codec::dense, Codec::packed, Codec::sketch}) {
        CodecConfig config{codec, Arithmetic::fixed32, 4};
        config.sums_only = true;
        const auto chunk = make_chunk_codec(host_device(), config);
        for (int round = 0; round < 300; ++round) {
            std::vector<float> values(1 + random() % 500);
            for (float& value : values)
                value = random() % 3 == 0 ? static_cast<float>(random() % 100) : 0;
            const std::vector<float> before = values;
            Progress progress =
                chunk->begin({.values = values.data(),
                              .count = static_cast<std::uint32_t>(values.size()),
                              .seed = random(),
                              .expected_union = random() % 2 == 0 ? ChunkTask::unknown_union : 50});
            while (progress == Progress::exchange) {
                for (const Message& message : chunk->messages()) {
                    for (std::byte& byte : message.bytes) {
                        if (random() % 4 == 0) byte |= static_cast<std::byte>(random());
                    }
                }
                progress = chunk->advance();
            }
            EXPECT_TRUE(progress == Progress::done || values == before);
        }
    }
}

}  // namespace
}  // namespace sumwire::gpu::testing
