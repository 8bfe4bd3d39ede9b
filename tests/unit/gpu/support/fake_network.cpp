#include "tests/unit/gpu/support/fake_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace sumwire::gpu::testing {

namespace {

template <typename T, typename F>
void fold(std::vector<std::byte>& total, std::span<const std::byte> more, F&& f) {
    for (std::size_t at = 0; at < total.size(); at += sizeof(T)) {
        T a;
        T b;
        std::memcpy(&a, total.data() + at, sizeof(T));
        std::memcpy(&b, more.data() + at, sizeof(T));
        a = f(a, b);
        std::memcpy(total.data() + at, &a, sizeof(T));
    }
}

void combine(Combine how, std::vector<std::byte>& total, std::span<const std::byte> more) {
    using U32 = std::uint32_t;
    switch (how) {
        case Combine::bit_or:
            return fold<U32>(total, more, [](U32 a, U32 b) { return a | b; });
        case Combine::add_i32:
            return fold<U32>(total, more, [](U32 a, U32 b) { return a + b; });
        case Combine::add_i64:
            return fold<std::uint64_t>(total, more, [](auto a, auto b) { return a + b; });
        case Combine::add_f32:
            return fold<float>(total, more, [](float a, float b) { return a + b; });
        case Combine::add_f64:
            return fold<double>(total, more, [](double a, double b) { return a + b; });
        case Combine::max_u8:
            return fold<std::uint8_t>(total, more, [](auto a, auto b) { return std::max(a, b); });
        case Combine::max_u16:
            return fold<std::uint16_t>(total, more, [](auto a, auto b) { return std::max(a, b); });
        case Combine::max_u32:
            return fold<std::uint32_t>(total, more, [](auto a, auto b) { return std::max(a, b); });
        case Combine::max_u64:
            return fold<std::uint64_t>(total, more, [](auto a, auto b) { return std::max(a, b); });
    }
}

}  // namespace

void combine_message(const std::vector<std::unique_ptr<ChunkCodec>>& codecs, std::size_t m) {
    const Message& first = codecs.front()->messages()[m];
    std::vector<std::byte> total(first.bytes.begin(), first.bytes.end());
    for (std::size_t r = 1; r < codecs.size(); ++r) {
        const Message& message = codecs[r]->messages()[m];
        ASSERT_EQ(message.combine, first.combine);
        ASSERT_EQ(message.bytes.size(), total.size());
        combine(first.combine, total, message.bytes);
    }
    for (const auto& codec : codecs) {
        std::ranges::copy(total, codec->messages()[m].bytes.begin());
    }
}

World::World(const CodecConfig& config) : config_(config) {
    for (std::uint32_t r = 0; r < config.world_size; ++r) {
        codecs_.push_back(make_chunk_codec(host_device(), config));
    }
}

Outcome World::reduce(const Gradients& gradients, Reduction reduction, std::uint32_t expected_union,
                      std::uint64_t seed, std::size_t offset) {
    Gradients memory;
    for (const auto& gradient : gradients) {
        memory.emplace_back(offset, 0.0f);
        memory.back().insert(memory.back().end(), gradient.begin(), gradient.end());
    }
    const Gradients before = memory;
    Outcome outcome;
    const auto same_bits = [](const auto& a, const auto& b) {
        return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
    };
    for (std::size_t r = 0; r < codecs_.size(); ++r) {
        ChunkTask task;
        task.values = memory[r].data() + offset;
        task.count = static_cast<std::uint32_t>(gradients[r].size());
        task.reduction = reduction;
        task.seed = seed;
        task.expected_union = expected_union;
        EXPECT_EQ(codecs_[r]->begin(task), Progress::exchange);
    }
    do {
        ++outcome.rounds;
        const std::size_t messages = codecs_.front()->messages().size();
        EXPECT_GE(messages, 1u);
        EXPECT_LE(messages, ChunkCodec::max_messages);
        for (const auto& codec : codecs_)
            EXPECT_EQ(codec->messages().size(), messages);
        for (std::size_t m = 0; m < messages; ++m) {
            outcome.message_bytes.push_back(codecs_.front()->messages()[m].bytes.size());
            EXPECT_EQ(outcome.message_bytes.back() % 4, 0u);
            combine_message(codecs_, m);
        }
        for (std::size_t r = 0; r < codecs_.size(); ++r) {
            EXPECT_TRUE(same_bits(memory[r], before[r])) << "touched before it was done";
        }
        for (std::size_t r = 0; r < codecs_.size(); ++r) {
            const Progress progress = codecs_[r]->advance();
            if (r == 0) outcome.progress = progress;
            EXPECT_EQ(progress, outcome.progress) << "rank " << r;
        }
    } while (outcome.progress == Progress::exchange && outcome.rounds < ChunkCodec::max_rounds &&
             !::testing::Test::HasFailure());

    outcome.union_size = codecs_.front()->union_size();
    outcome.stalled = codecs_.front()->stalled();
    for (std::size_t r = 0; r < codecs_.size(); ++r) {
        EXPECT_EQ(codecs_[r]->union_size(), outcome.union_size);
        EXPECT_EQ(codecs_[r]->stalled(), outcome.stalled);
        outcome.results.emplace_back(memory[r].begin() + static_cast<std::ptrdiff_t>(offset),
                                     memory[r].end());
        EXPECT_TRUE(same_bits(outcome.results[r], outcome.results[0])) << "rank " << r;
    }
    return outcome;
}

}  // namespace sumwire::gpu::testing
