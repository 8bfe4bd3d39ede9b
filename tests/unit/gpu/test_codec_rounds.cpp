// Rounds, message sizes, and what the sketch makes of wrong expectations.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "tests/unit/gpu/support/inputs.h"
#include "tests/unit/gpu/support/references.h"

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

namespace sumwire::gpu::testing {
namespace {

using Bytes = std::vector<std::size_t>;

constexpr std::uint32_t count = 10'000;

Gradients uniform(Values values = Values::gradients, std::uint32_t world_size = 4) {
    return make_gradients(values, Pattern::uniform, world_size, count, 5);
}

// Bytes of a sketch of so many words in a row: units of 32, 1.11 rows each and a dozen more, in
// four equal segments.
std::size_t sketch_of_row_bytes(std::size_t words) {
    const std::size_t units = (words + 31) / 32;
    const std::size_t rows = units + (units * 11 + 99) / 100 + 12;
    return (rows + 3) / 4 * 4 * 32 * 4;
}

TEST(CodecRounds, MessagesAreAsDescribed) {
    const Gradients gradients = uniform();
    const std::size_t blocks = (count + 31) / 32;
    const std::size_t index = blocks * 4;
    const std::size_t ranges = (blocks * 2 + 3) / 4 * 4;
    // Two bits a block. A third of the elements leaves no block of these empty or full, but the
    // last one, of half the size, could be.
    const std::size_t level = 2 * ((blocks + 31) / 32 * 4);
    const std::size_t n = union_reference(gradients);
    const auto bytes = [&](Codec codec, Arithmetic arithmetic, std::uint32_t expected) {
        return World({codec, arithmetic, 4})
            .reduce(gradients, Reduction::sum, expected)
            .message_bytes;
    };
    constexpr std::uint32_t unknown = ChunkTask::unknown_union;
    EXPECT_EQ(bytes(Codec::dense, Arithmetic::f32, unknown), (Bytes{count * 4}));
    EXPECT_EQ(bytes(Codec::dense, Arithmetic::fixed32, unknown), (Bytes{4, count * 4}));
    EXPECT_EQ(bytes(Codec::packed, Arithmetic::f32, unknown), (Bytes{level, index, n * 4}));
    EXPECT_EQ(bytes(Codec::packed, Arithmetic::fixed32, unknown), (Bytes{level, 4, index, n * 4}));
    EXPECT_EQ(bytes(Codec::sketch, Arithmetic::fixed32, unknown),
              (Bytes{index, 4, sketch_of_row_bytes(n)}));
    const Bytes known = bytes(Codec::sketch, Arithmetic::fixed32, static_cast<std::uint32_t>(n));
    ASSERT_EQ(known.size(), 3u);
    EXPECT_EQ(known[0], 4u);
    EXPECT_EQ(known[1], index);
    // Single words in 32 segments of equal size.
    const auto elements = static_cast<double>(n);
    EXPECT_NEAR(static_cast<double>(known[2]) / 4, 1.09 * elements + 10.5 * std::sqrt(elements),
                32 + 11);
    const Bytes dense = bytes(Codec::dense, Arithmetic::exact, unknown);
    ASSERT_EQ(dense.size(), 2u);
    EXPECT_EQ(dense[0], ranges);
    const Bytes packed = bytes(Codec::packed, Arithmetic::exact, unknown);
    ASSERT_EQ(packed.size(), 4u);
    EXPECT_EQ(packed[0], level);
    EXPECT_EQ(packed[1], index);
    EXPECT_EQ(packed[2], ranges);
    const Bytes sketched = bytes(Codec::sketch, Arithmetic::exact, unknown);
    ASSERT_EQ(sketched.size(), 3u);
    EXPECT_EQ(sketched[2], sketch_of_row_bytes(packed[3] / 4));
}

TEST(CodecRounds, RunsNeedNoIndexOfTheirElements) {
    // Four blocks in sixteen, whole.
    Gradients gradients(2, std::vector<float>(count));
    for (std::uint32_t i = 0; i < count; ++i)
        gradients[i / 32 % 2][i] = i / 128 % 4 == 0 ? 1.5f : 0.0f;
    const std::size_t blocks = (count + 31) / 32;
    const std::size_t level = 2 * ((blocks + 31) / 32 * 4);
    const std::size_t n = union_reference(gradients);
    const Outcome f32 = World({Codec::packed, Arithmetic::f32, 2}).reduce(gradients);
    EXPECT_EQ(f32.message_bytes, (Bytes{level, n * 4}));
    EXPECT_EQ(f32.results[0], float_reference(gradients, Reduction::sum));
    const Outcome exact = World({Codec::packed, Arithmetic::exact, 2}).reduce(gradients);
    // 1.5 takes two bits, one for the sign and one to carry: half a byte.
    const std::size_t occupied = (n + 31) / 32;
    EXPECT_EQ(exact.message_bytes, (Bytes{level, (occupied * 2 + 3) / 4 * 4, n / 2}));
    EXPECT_EQ(exact.results[0], float_reference(gradients, Reduction::sum));
}

TEST(CodecRounds, NothingToSendEndsAfterTheFirstRound) {
    const Gradients zeros(3, std::vector<float>(100, 0.0f));
    for (const Codec codec : {Codec::packed, Codec::sketch}) {
        const Outcome outcome = World({codec, Arithmetic::exact, 3}).reduce(zeros);
        EXPECT_EQ(outcome.progress, Progress::done);
        EXPECT_EQ(outcome.rounds, 1u);
        EXPECT_EQ(outcome.union_size, 0u);
        EXPECT_EQ(outcome.results[0], zeros[0]);
    }
}

TEST(CodecRounds, AnyExpectationOfTheUnionGivesTheSameBits) {
    World world({Codec::sketch, Arithmetic::fixed32, 4});
    for (const Pattern pattern : all_patterns) {
        const Gradients gradients = make_gradients(Values::gradients, pattern, 4, count, 9);
        const auto n = union_reference(gradients);
        const Outcome known_index = world.reduce(gradients);
        for (const std::uint32_t expected : {0u, 1u, n / 10, n / 2, n, n + n / 2, 10 * n, count,
                                             0xffff'fffeu, ChunkTask::unknown_union}) {
            SCOPED_TRACE(::testing::Message() << static_cast<int>(pattern) << " " << expected);
            const Outcome outcome = world.reduce(gradients, Reduction::sum, expected);
            ASSERT_EQ(outcome.progress, Progress::done);
            EXPECT_TRUE(same_floats(outcome.results[0], known_index.results[0]));
            // Where the index is a filter, sums of zero are not told from nothing.
            EXPECT_LE(outcome.union_size, n);
            EXPECT_GE(outcome.union_size, n - n / 50);
            EXPECT_LE(outcome.rounds, ChunkCodec::max_rounds);
        }
    }
}

TEST(CodecRounds, ATooSmallSketchStallsAndIsRepaired) {
    const Gradients gradients = uniform();
    const auto n = union_reference(gradients);
    World world({Codec::sketch, Arithmetic::fixed32, 4});
    for (const std::uint32_t expected : {0u, n / 4, n * 3 / 4}) {
        const Outcome outcome = world.reduce(gradients, Reduction::sum, expected);
        ASSERT_EQ(outcome.progress, Progress::done);
        EXPECT_TRUE(outcome.stalled);
        EXPECT_EQ(outcome.rounds, 3u);
        EXPECT_TRUE(within_fixed32_bound(outcome.results[0], gradients, Reduction::sum));
        // Each counter spares at most one request, and a good choice wastes few.
        const std::size_t counters = outcome.message_bytes[2] / 4;
        const std::size_t requests = outcome.message_bytes[3] / 4;
        EXPECT_GE(requests + counters, n);
        EXPECT_LE(requests, n);
    }
    const Outcome slightly = world.reduce(gradients, Reduction::sum, n * 9 / 10);
    // Few units are put aside, and the rows that are left over determine them.
    EXPECT_FALSE(slightly.stalled);
    EXPECT_EQ(slightly.message_bytes.size(), 3u);
}

TEST(CodecRounds, StallsOfExactSketchesAreRepaired) {
    World world({Codec::sketch, Arithmetic::exact, 2});
    unsigned stalls = 0;
    for (std::uint64_t seed = 1; seed <= 600; ++seed) {
        const Gradients gradients =
            make_gradients(Values::gradients, Pattern::full, 2, 90, seed % 4);
        const Outcome outcome =
            world.reduce(gradients, Reduction::sum, ChunkTask::unknown_union, seed);
        ASSERT_EQ(outcome.progress, Progress::done);
        ASSERT_TRUE(same_floats(outcome.results[0], exact_reference(gradients, Reduction::sum)));
        ASSERT_EQ(outcome.stalled, outcome.rounds == 3);
        stalls += outcome.stalled ? 1 : 0;
    }
    EXPECT_GT(stalls, 0u);
    EXPECT_LT(stalls, 60u);
}

TEST(CodecRounds, OneCodecServesChunksOfAllKinds) {
    for (const Codec codec : {Codec::dense, Codec::packed, Codec::sketch}) {
        World world({codec, Arithmetic::exact, 2});
        // Very wide fields outgrow the payload memory; ordinary chunks follow.
        for (const std::uint32_t size : {10'000u, 65'536u, 1u, 33u, 65'536u, 20'000u}) {
            const Values values = size == 65'536 ? Values::any_bits : Values::gradients;
            const Gradients gradients = make_gradients(values, Pattern::full, 2, size, size);
            const Outcome outcome = world.reduce(gradients);
            ASSERT_EQ(outcome.progress, Progress::done);
            ASSERT_TRUE(
                same_floats(outcome.results[0], exact_reference(gradients, Reduction::sum)));
        }
    }
}

TEST(CodecRounds, AnAbandonedChunkCanBeBegunAgain) {
    const std::vector<float> before = uniform(Values::gradients, 1)[0];
    for (const Codec codec : {Codec::dense, Codec::packed, Codec::sketch}) {
        for (const Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::fixed32}) {
            const auto one = make_chunk_codec(host_device(), {codec, arithmetic, 1});
            std::vector<float> values = before;
            ChunkTask task;
            task.values = values.data();
            task.count = count;
            task.expected_union = 10;  // the sketch takes all rounds
            for (unsigned rounds = 0; rounds < 2; ++rounds) {
                EXPECT_EQ(one->begin(task), Progress::exchange);
                for (unsigned r = 0; r < rounds; ++r) {
                    EXPECT_EQ(one->advance(), Progress::exchange);
                }
                EXPECT_TRUE(same_floats(values, before));
            }
            EXPECT_EQ(one->begin(task), Progress::exchange);
            Progress progress = Progress::exchange;
            while (progress == Progress::exchange)
                progress = one->advance();
            EXPECT_EQ(progress, Progress::done);
            EXPECT_TRUE(arithmetic == Arithmetic::exact
                            ? same_floats(values, before)
                            : within_fixed32_bound(values, {before}, Reduction::sum));
        }
    }
}

TEST(CodecRounds, MessagesLieInPayloadMemory) {
    for (const Codec codec : {Codec::dense, Codec::packed, Codec::sketch}) {
        std::vector<std::unique_ptr<ChunkCodec>> one;
        one.push_back(make_chunk_codec(host_device(), {codec, Arithmetic::exact, 1}));
        const auto memory = one[0]->payload_memory();
        std::vector<float> values =
            make_gradients(Values::gradients, Pattern::full, 1, chunk_elements, 3)[0];
        ChunkTask task;
        task.values = values.data();
        task.count = chunk_elements;
        task.expected_union = ChunkTask::unknown_union;
        one[0]->begin(task);
        do {
            for (const Message& message : one[0]->messages()) {
                EXPECT_GE(message.bytes.data(), memory.data());
                EXPECT_LE(message.bytes.data() + message.bytes.size(),
                          memory.data() + memory.size());
            }
        } while (one[0]->advance() == Progress::exchange);
    }
}

TEST(CodecRounds, NonFiniteValuesMakeAFixed32ChunkNaN) {
    Gradients gradients = uniform();
    gradients[2][77] = std::numeric_limits<float>::infinity();
    for (const Codec codec : {Codec::dense, Codec::packed, Codec::sketch}) {
        for (const std::uint32_t expected : {ChunkTask::unknown_union, 900u}) {
            const Outcome outcome = World({codec, Arithmetic::fixed32, 4})
                                        .reduce(gradients, Reduction::average, expected);
            ASSERT_EQ(outcome.progress, Progress::done);
            EXPECT_TRUE(within_fixed32_bound(outcome.results[0], gradients, Reduction::average));
        }
    }
}

#ifdef __SSE2__
TEST(CodecRounds, SubnormalsSurviveAProcessThatFlushesThem) {
    const Gradients gradients = uniform(Values::subnormals);
    const auto expected_sum = exact_reference(gradients, Reduction::sum);
    const auto expected_average = exact_reference(gradients, Reduction::average);
    const unsigned before = _mm_getcsr();
    constexpr unsigned flush_to_zero_and_denormals_are_zero = 0x8040;
    _mm_setcsr(before | flush_to_zero_and_denormals_are_zero);
    std::vector<Outcome> sums;
    std::vector<Outcome> averages;
    for (const Codec codec : {Codec::dense, Codec::packed, Codec::sketch}) {
        for (const Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::fixed32}) {
            World world({codec, arithmetic, 4});
            sums.push_back(world.reduce(gradients, Reduction::sum));
            averages.push_back(world.reduce(gradients, Reduction::average));
        }
    }
    _mm_setcsr(before);
    // The unit of a chunk of subnormals is below the least float, so fixed32 is exact as well.
    for (const Outcome& outcome : sums) {
        EXPECT_TRUE(same_floats(outcome.results[0], expected_sum));
    }
    for (const Outcome& outcome : averages) {
        EXPECT_TRUE(same_floats(outcome.results[0], expected_average));
    }
}
#endif

TEST(CodecRounds, WrongConfigurationsAreRefusedWithTheRemedy) {
    const auto message = [](const CodecConfig& config) -> std::string {
        try {
            make_chunk_codec(host_device(), config);
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return {};
    };
    EXPECT_NE(message({Codec::sketch, Arithmetic::f32, 4}).find("fixed32"), std::string::npos);
    EXPECT_NE(message({Codec::packed, Arithmetic::exact, 0}).find("1 to 1024"), std::string::npos);
    EXPECT_NE(message({Codec::packed, Arithmetic::exact, 1025}).find("1 to 1024"),
              std::string::npos);
    EXPECT_EQ(message({Codec::packed, Arithmetic::exact, 1024}), "");
}

}  // namespace
}  // namespace sumwire::gpu::testing
