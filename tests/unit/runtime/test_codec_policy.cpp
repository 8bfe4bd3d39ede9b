#include <gtest/gtest.h>

#include "runtime/engine/codec_policy.h"
#include "runtime/engine/union_history.h"

namespace sumwire::runtime {
namespace {

using gpu::Arithmetic;
using gpu::Codec;

const LinkCosts gigabit(std::chrono::microseconds(60), 1.25e8);

PolicyInput input(Arithmetic arithmetic = Arithmetic::exact, const LinkCosts& link = gigabit) {
    PolicyInput input;
    input.count = gpu::chunk_elements;
    input.operation_chunks = 100;
    input.arithmetic = arithmetic;
    input.link = link;
    return input;
}

ChunkFacts facts(double density, Codec codec) {
    ChunkFacts facts;
    facts.union_size = static_cast<std::uint32_t>(density * gpu::chunk_elements);
    facts.codec = codec;
    return facts;
}

TEST(CodecPolicy, AnUnknownChunkIsPacked) {
    for (const Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::f32, Arithmetic::fixed32}) {
        EXPECT_EQ(choose_codec(input(arithmetic), {}), Codec::packed);
    }
}

TEST(CodecPolicy, SparseIsPackedAndFullIsDense) {
    for (const Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::f32}) {
        for (const Codec last : {Codec::dense, Codec::packed}) {
            EXPECT_EQ(choose_codec(input(arithmetic), facts(0.01, last)), Codec::packed);
            EXPECT_EQ(choose_codec(input(arithmetic), facts(0.6, last)), Codec::packed);
        }
        // A small operation saves round trips.
        PolicyInput small = input(arithmetic);
        small.count = 1000;
        small.operation_chunks = 1;
        ChunkFacts full = facts(1, Codec::packed);
        full.union_size = 1000;
        EXPECT_EQ(choose_codec(small, full), Codec::dense);
        // An empty one is a single round trip either way.
        EXPECT_EQ(choose_codec(small, facts(0, Codec::dense)), Codec::packed);
    }
}

TEST(CodecPolicy, ChangesForAGainOfATwentiethOnly) {
    // Between the densities at which each codec is given up lies a stretch where both stay.
    unsigned kept = 0;
    for (double density = 0; density <= 1; density += 1.0 / 256) {
        const Codec from_dense = choose_codec(input(Arithmetic::f32), facts(density, Codec::dense));
        const Codec from_packed =
            choose_codec(input(Arithmetic::f32), facts(density, Codec::packed));
        if (from_dense == Codec::dense && from_packed == Codec::packed) ++kept;
        EXPECT_FALSE(from_dense == Codec::packed && from_packed == Codec::dense);
    }
    EXPECT_GE(kept, 8u);
    EXPECT_LE(kept, 40u);
}

TEST(CodecPolicy, ADenseChunkIsLookedAtAgainNowAndThen) {
    ChunkFacts full = facts(1, Codec::dense);
    unsigned packed = 0;
    for (unsigned use = 0; use < 64; ++use) {
        const Codec codec = choose_codec(input(), full);
        full.uses = codec == full.codec ? full.uses + 1 : 0;
        full.codec = codec;
        packed += codec == Codec::packed ? 1 : 0;
        full.codec = Codec::dense;
        if (codec == Codec::packed) full.uses = 0;
    }
    EXPECT_GE(packed, 2u);
    EXPECT_LE(packed, 6u);
}

TEST(CodecPolicy, SketchesNeedFixed32AndALongRoundTrip) {
    const LinkCosts far(std::chrono::milliseconds(50), 1.25e9);
    PolicyInput one = input(Arithmetic::fixed32, far);
    one.operation_chunks = 1;
    EXPECT_EQ(choose_codec(one, facts(0.05, Codec::packed)), Codec::sketch);
    one.arithmetic = Arithmetic::exact;
    EXPECT_NE(choose_codec(one, facts(0.05, Codec::packed)), Codec::sketch);
    EXPECT_EQ(choose_codec(input(Arithmetic::fixed32), facts(0.05, Codec::packed)), Codec::packed);
}

TEST(Lagged, IsUsedOnlyOnceItsMeasurerHasEndedEverywhere) {
    Lagged<int, 4> value;
    EXPECT_EQ(value.at(10), 0);
    EXPECT_TRUE(value.begin(10));
    EXPECT_FALSE(value.begin(11));
    value.measured(7);
    EXPECT_EQ(value.at(13), 0);
    EXPECT_FALSE(value.begin(13));
    EXPECT_EQ(value.at(14), 7);
    EXPECT_TRUE(value.begin(14));
    // Until the next measurement counts, the last one does, whenever it comes.
    EXPECT_EQ(value.at(16), 7);
    value.measured(8);
    EXPECT_EQ(value.at(17), 7);
    EXPECT_EQ(value.at(18), 8);
}

TEST(UnionHistory, TellsTensorsApartAndForgetsTheOldest) {
    UnionHistory<4> history;
    auto& first = history.tensor(1000, 0, 1, 0);
    EXPECT_EQ(&history.tensor(1000, 0, 1, 1), &first);
    EXPECT_NE(&history.tensor(1000, 1, 1, 2), &first);
    EXPECT_NE(&history.tensor(1001, 0, 1, 3), &first);
    first[0].begin(0);
    first[0].measured(facts(0.5, Codec::packed));
    EXPECT_TRUE(history.tensor(1000, 0, 1, 4)[0].at(4).known());
    // Much more than is kept: what was used last stays, what may be under way too.
    for (std::uint64_t i = 0; i < 3; ++i)
        history.tensor(100'000'000'000 + i, 0, 200'000, 100 + 10 * i);
    EXPECT_FALSE(history.tensor(1000, 0, 1, 200)[0].at(200).known());
    EXPECT_EQ(history.tensor(100'000'000'002, 0, 200'000, 201).size(), 200'000u);
}

}  // namespace
}  // namespace sumwire::runtime
