// Aggregates that no honest peers produce: never out of bounds, values untouched unless done.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>

#include "gpu/codec/chunk_codec.h"
#include "tests/unit/gpu/support/inputs.h"

namespace sumwire::gpu::testing {
namespace {

using Random = std::mt19937_64;
// Damages the messages of a round.
using Damage = std::function<void(unsigned round, std::span<const Message> messages)>;

// Runs one rank of two, whose peer has nothing but what the damage does.
Progress run_damaged(const CodecConfig& config, const std::vector<float>& gradient,
                     std::uint32_t expected_union, const Damage& damage,
                     std::vector<float>* results = nullptr) {
    const auto codec = make_chunk_codec(host_device(), config);
    std::vector<float> values = gradient;
    ChunkTask task;
    task.values = values.data();
    task.count = static_cast<std::uint32_t>(values.size());
    task.expected_union = expected_union;
    Progress progress = codec->begin(task);
    for (unsigned round = 0; progress == Progress::exchange; ++round) {
        EXPECT_LT(round, ChunkCodec::max_rounds);
        damage(round, codec->messages());
        progress = codec->advance();
        if (progress != Progress::done) {
            EXPECT_EQ(std::memcmp(values.data(), gradient.data(), values.size() * sizeof(float)),
                      0);
        }
    }
    if (results != nullptr) *results = values;
    return progress;
}

struct Combination {
    Codec codec;
    Arithmetic arithmetic;
    std::uint32_t expected_union;
};

const Combination combinations[] = {
    {Codec::dense, Arithmetic::exact, ChunkTask::unknown_union},
    {Codec::dense, Arithmetic::f32, ChunkTask::unknown_union},
    {Codec::dense, Arithmetic::fixed32, ChunkTask::unknown_union},
    {Codec::packed, Arithmetic::exact, ChunkTask::unknown_union},
    {Codec::packed, Arithmetic::f32, ChunkTask::unknown_union},
    {Codec::packed, Arithmetic::fixed32, ChunkTask::unknown_union},
    {Codec::sketch, Arithmetic::exact, ChunkTask::unknown_union},
    {Codec::sketch, Arithmetic::fixed32, ChunkTask::unknown_union},
    {Codec::sketch, Arithmetic::fixed32, 150},
    {Codec::sketch, Arithmetic::fixed32, 0},
};

void randomise(std::span<std::byte> bytes, Random& random) {
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(random());
}

std::uint32_t count_of(std::uint64_t seed) {
    return 1 + static_cast<std::uint32_t>(seed * 37 % 1500);
}

TEST(CodecHostile, RandomBytesFromSomeRoundOn) {
    for (const Combination& c : combinations) {
        for (std::uint64_t seed = 0; seed < 120; ++seed) {
            Random random(seed);
            const std::vector<float> gradient =
                make_gradients(Values::gradients, Pattern::uniform, 1, count_of(seed), seed)[0];
            run_damaged({c.codec, c.arithmetic, 2 + static_cast<std::uint32_t>(seed % 3) * 500},
                        gradient, c.expected_union,
                        [&](unsigned round, std::span<const Message> messages) {
                            if (round < seed % 3) return;
                            for (const Message& message : messages)
                                randomise(message.bytes, random);
                        });
        }
    }
}

TEST(CodecHostile, MoreBitsInOneMessage) {
    for (const Combination& c : combinations) {
        for (std::uint64_t seed = 0; seed < 200; ++seed) {
            Random random(seed);
            const std::vector<float> gradient =
                make_gradients(Values::any_finite, Pattern::runs, 1, count_of(seed), seed)[0];
            run_damaged({c.codec, c.arithmetic, 2}, gradient, c.expected_union,
                        [&](unsigned round, std::span<const Message> messages) {
                            if (round != seed % 3) return;
                            const Message& message = messages[seed / 3 % messages.size()];
                            if (message.bytes.empty()) return;
                            for (unsigned i = 0; i < 4; ++i) {
                                message.bytes[random() % message.bytes.size()] |=
                                    static_cast<std::byte>(1u << random() % 8);
                            }
                        });
        }
    }
}

class Detected : public ::testing::Test {
  protected:
    static constexpr std::uint32_t unknown = ChunkTask::unknown_union;
    std::vector<float> gradient_ =
        make_gradients(Values::gradients, Pattern::uniform, 1, 1001, 3)[0];

    void expect_detected(const CodecConfig& config, const Damage& damage,
                         std::uint32_t expected_union = unknown) {
        EXPECT_EQ(run_damaged(config, gradient_, expected_union, damage), Progress::inconsistent);
    }
};

Damage in_message(unsigned round, Combine combine,
                  const std::function<void(std::span<std::byte>)>& f) {
    return [=](unsigned at, std::span<const Message> messages) {
        if (at != round) return;
        for (const Message& message : messages) {
            if (message.combine == combine) f(message.bytes);
        }
    };
}

// The round in which a codec that asks the index first sends it.
unsigned index_round(Codec codec) {
    return codec == Codec::packed ? 1 : 0;
}

TEST_F(Detected, IndexBitsBeyondTheCount) {
    const auto damage = [](Codec codec) {
        return in_message(index_round(codec), Combine::bit_or,
                          [](auto b) { b.back() |= std::byte{2}; });
    };
    for (const Codec codec : {Codec::packed, Codec::sketch}) {
        expect_detected({codec, Arithmetic::exact, 2}, damage(codec));
        expect_detected({codec, Arithmetic::fixed32, 2}, damage(codec));
    }
    expect_detected({Codec::packed, Arithmetic::f32, 2}, damage(Codec::packed));
    expect_detected({Codec::sketch, Arithmetic::fixed32, 2},
                    in_message(1, Combine::bit_or, [](auto b) { b.back() |= std::byte{128}; }),
                    120);
}

TEST_F(Detected, OwnNonZerosMissing) {
    const auto clear = [](unsigned round) {
        return in_message(round, Combine::bit_or,
                          [](auto b) { std::ranges::fill(b, std::byte{0}); });
    };
    for (const Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::fixed32}) {
        expect_detected({Codec::sketch, arithmetic, 2}, clear(0));
        expect_detected({Codec::packed, arithmetic, 2}, clear(0));
        expect_detected({Codec::packed, arithmetic, 2}, clear(1));
    }
    expect_detected(
        {Codec::dense, Arithmetic::exact, 2},
        in_message(0, Combine::max_u8, [](auto b) { std::ranges::fill(b, std::byte{0}); }));
}

TEST_F(Detected, RangesThatOwnValuesExceed) {
    for (const Codec codec : {Codec::dense, Codec::packed, Codec::sketch}) {
        for (const std::size_t byte : {0u, 1u}) {
            expect_detected({codec, Arithmetic::exact, 2},
                            in_message(index_round(codec), Combine::max_u8, [=](auto b) {
                                for (std::size_t at = byte; at < b.size(); at += 2) {
                                    if (b[at] != std::byte{0}) {
                                        b[at] = std::byte(std::to_integer<unsigned>(b[at]) - 1);
                                    }
                                }
                            }));
        }
        expect_detected({codec, Arithmetic::fixed32, 2},
                        in_message(0, Combine::max_u8, [](auto b) { b[0] = std::byte{1}; }));
    }
}

TEST_F(Detected, RangesThatNoValuesHave) {
    for (const Codec codec : {Codec::dense, Codec::packed, Codec::sketch}) {
        expect_detected(
            {codec, Arithmetic::exact, 2},
            in_message(index_round(codec), Combine::max_u8, [](auto b) { b[1] = std::byte{255}; }));
    }
}

TEST_F(Detected, CountersThatNothingExplains) {
    // A key of the last counter would be a coincidence of many.
    const auto disturb = [](std::span<std::byte> b) {
        for (std::size_t at = 0; at < b.size(); at += 4)
            b[at] ^= std::byte{1};
    };
    expect_detected({Codec::sketch, Arithmetic::exact, 2},
                    in_message(1, Combine::add_i32, disturb));
    expect_detected({Codec::sketch, Arithmetic::fixed32, 2},
                    in_message(1, Combine::add_i32, disturb), 120);
    // A sketch as large as the chunk, hence plain.
    expect_detected({Codec::sketch, Arithmetic::fixed32, 2},
                    in_message(1, Combine::add_i32, disturb), 1001);
}

TEST_F(Detected, SumsTooLargeForTheRanks) {
    for (const Codec codec : {Codec::dense, Codec::packed}) {
        const unsigned values = index_round(codec) + 1;
        expect_detected(
            {codec, Arithmetic::fixed32, 1},
            in_message(values, Combine::add_i32, [](auto b) { b[3] = std::byte{0x70}; }));
        expect_detected({codec, Arithmetic::exact, 3},
                        in_message(values, Combine::add_i32,
                                   [](auto b) { std::ranges::fill(b, std::byte{0xff}); }));
    }
}

}  // namespace
}  // namespace sumwire::gpu::testing
