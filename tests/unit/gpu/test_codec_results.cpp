#include <gtest/gtest.h>

#include <tuple>

#include "tests/unit/gpu/support/inputs.h"
#include "tests/unit/gpu/support/references.h"

namespace sumwire::gpu::testing {
namespace {

class CodecResults : public ::testing::TestWithParam<std::tuple<Codec, Arithmetic>> {
  protected:
    CodecConfig config(std::uint32_t world_size) const {
        return {std::get<0>(GetParam()), std::get<1>(GetParam()), world_size};
    }

    void expect_right(const Outcome& outcome, const Gradients& gradients, Reduction reduction) {
        const CodecConfig c = config(1);
        ASSERT_EQ(outcome.progress, Progress::done);
        switch (c.arithmetic) {
            case Arithmetic::exact:
                EXPECT_TRUE(same_floats(outcome.results[0], exact_reference(gradients, reduction)));
                break;
            case Arithmetic::f32:
                EXPECT_TRUE(same_floats(outcome.results[0], float_reference(gradients, reduction)));
                break;
            case Arithmetic::fixed32:
                EXPECT_TRUE(within_fixed32_bound(outcome.results[0], gradients, reduction));
                break;
        }
        if (c.codec == Codec::dense) {
            EXPECT_EQ(outcome.union_size, gradients[0].size());
        } else if (c.arithmetic == Arithmetic::exact) {
            EXPECT_EQ(outcome.union_size, c.codec == Codec::packed
                                              ? packed_union_reference(gradients)
                                              : union_reference(gradients));
        }
    }

    void check(World& world, const Gradients& gradients, std::uint64_t seed) {
        std::vector<std::uint32_t> expectations = {ChunkTask::unknown_union, 0, 500};
        if (gradients.size() > 100) expectations = {0};
        for (const Reduction reduction : {Reduction::sum, Reduction::average}) {
            for (const std::uint32_t expected : expectations) {
                const Outcome outcome =
                    world.reduce(gradients, reduction, expected, seed, seed % 3);
                expect_right(outcome, gradients, reduction);
                if (::testing::Test::HasFailure()) return;
            }
        }
    }
};

TEST_P(CodecResults, AllValuesAndPatternsOnFourRanks) {
    World world(config(4));
    std::uint64_t seed = 1;
    for (const Values values : all_values) {
        for (const Pattern pattern : all_patterns) {
            SCOPED_TRACE(::testing::Message() << "values " << static_cast<int>(values)
                                              << " pattern " << static_cast<int>(pattern));
            check(world, make_gradients(values, pattern, 4, 3001, seed), seed);
            ++seed;
            if (HasFailure()) return;
        }
    }
}

TEST_P(CodecResults, AllSmallCounts) {
    World world(config(3));
    for (std::uint32_t count = 1; count <= 100; ++count) {
        SCOPED_TRACE(count);
        const Values values = all_values[count % std::size(all_values)];
        const Pattern pattern = count % 2 == 0 ? Pattern::full : Pattern::uniform;
        check(world, make_gradients(values, pattern, 3, count, count), count);
        if (HasFailure()) return;
    }
}

TEST_P(CodecResults, LargeChunks) {
    World world(config(2));
    for (const std::uint32_t count : {65'536u, 65'535u, 40'001u, 32'768u}) {
        for (const Pattern pattern : {Pattern::full, Pattern::runs, Pattern::uniform}) {
            SCOPED_TRACE(::testing::Message()
                         << "count " << count << " pattern " << static_cast<int>(pattern));
            const Values values = count == 40'001 ? Values::any_finite : Values::gradients;
            const Gradients gradients = make_gradients(values, pattern, 2, count, count);
            const Outcome outcome = world.reduce(gradients, Reduction::sum, count / 5, count);
            expect_right(outcome, gradients, Reduction::sum);
            if (HasFailure()) return;
        }
    }
}

TEST_P(CodecResults, WorldSizes) {
    for (const std::uint32_t world_size : {1u, 2u, 3u, 7u, 32u, 1000u}) {
        World world(config(world_size));
        for (const Values values : {Values::gradients, Values::any_bits, Values::special,
                                    Values::one_binade, Values::huge, Values::any_finite}) {
            SCOPED_TRACE(::testing::Message()
                         << "ranks " << world_size << " values " << static_cast<int>(values));
            if (world_size == 1000 && values != Values::any_bits && values != Values::one_binade) {
                continue;
            }
            const std::uint32_t count = world_size == 1000 ? 43 : 700;
            const Gradients gradients =
                make_gradients(values, Pattern::full, world_size, count, world_size);
            check(world, gradients, world_size);
            if (HasFailure()) return;
        }
    }
}

// The largest sums that fields have to hold: every rank the largest of its range, same sign.
TEST_P(CodecResults, EveryRankAtTheEdgeOfTheRange) {
    for (const std::uint32_t world_size : {4u, 5u, 1024u}) {
        World world(config(world_size));
        for (const float value : {0x1.fffffep+3f, -0x1.fffffep+3f, 0x1.fffffep+127f, -0x1p-149f}) {
            for (const float other : {0x1p-20f, 0x1p-40f, 0x1p-149f}) {
                if (world_size == 1024 && (value != 0x1.fffffep+127f || other == 0x1p-40f))
                    continue;
                Gradients gradients(world_size, std::vector<float>(33, value));
                for (auto& gradient : gradients)
                    gradient[1] = gradient[32] = other;
                check(world, gradients, 7);
                if (HasFailure()) return;
            }
        }
    }
}

using Combination = std::tuple<Codec, Arithmetic>;

std::string name_of(const ::testing::TestParamInfo<Combination>& info) {
    static constexpr const char* codecs[] = {"dense", "packed", "sketch"};
    static constexpr const char* arithmetics[] = {"exact", "f32", "fixed32"};
    return std::string(codecs[static_cast<int>(std::get<0>(info.param))]) + "_" +
           arithmetics[static_cast<int>(std::get<1>(info.param))];
}

INSTANTIATE_TEST_SUITE_P(All, CodecResults,
                         ::testing::Values(Combination(Codec::dense, Arithmetic::exact),
                                           Combination(Codec::dense, Arithmetic::f32),
                                           Combination(Codec::dense, Arithmetic::fixed32),
                                           Combination(Codec::packed, Arithmetic::exact),
                                           Combination(Codec::packed, Arithmetic::f32),
                                           Combination(Codec::packed, Arithmetic::fixed32),
                                           Combination(Codec::sketch, Arithmetic::exact),
                                           Combination(Codec::sketch, Arithmetic::fixed32)),
                         name_of);

}  // namespace
}  // namespace sumwire::gpu::testing
