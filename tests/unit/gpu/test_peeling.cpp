#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "gpu/codec/inactivation.h"
#include "gpu/codec/peeling.h"

namespace sumwire::gpu {
namespace {

using Random = std::mt19937_64;

// A sketch with known words, and what it is made of.
struct System {
    System(std::uint32_t unknowns, std::uint32_t counters, bool own_keys, std::uint64_t seed) {
        Random random(seed);
        shape = {counters / 3, random()};
        std::set<std::uint32_t> distinct;
        while (distinct.size() < unknowns) {
            distinct.insert(static_cast<std::uint32_t>(random()) % (4 * unknowns));
        }
        if (own_keys) keys.assign(distinct.begin(), distinct.end());
        words.resize(unknowns);
        for (auto& word : words)
            word = static_cast<std::uint32_t>(random() >> random() % 33);
        sketch.resize(shape.counters());
        make_sketch(shape, {keys}, words, sketch);
        solutions.resize(unknowns);
    }

    PeelingProblem problem() { return {shape, {keys}, sketch, solutions}; }
    CounterTriple counters(std::uint32_t i) const { return counters_of(shape, Keys{keys}[i]); }

    SketchShape shape;
    std::vector<std::uint32_t> keys;
    std::vector<std::uint32_t> words;
    std::vector<std::uint32_t> sketch;
    std::vector<std::uint32_t> solutions;
};

// Plain and slow.
class SlowPeeler {
  public:
    explicit SlowPeeler(const System& system) : system_(system) {
        for (std::uint32_t i = 0; i < system.words.size(); ++i)
            unsolved_.insert(i);
    }

    const std::set<std::uint32_t>& unsolved() const { return unsolved_; }

    unsigned degree(std::uint32_t counter) const {
        unsigned degree = 0;
        for (const std::uint32_t i : unsolved_) {
            degree += std::ranges::count(system_.counters(i), counter) != 0 ? 1 : 0;
        }
        return degree;
    }

    unsigned counters_of_degree(std::uint32_t i, unsigned degree_asked) const {
        unsigned n = 0;
        for (const std::uint32_t c : system_.counters(i))
            n += degree(c) == degree_asked ? 1 : 0;
        return n;
    }

    void peel() {
        for (bool progress = true; progress;) {
            progress = false;
            for (const std::uint32_t i : std::set(unsolved_)) {
                if (counters_of_degree(i, 1) == 0) continue;
                unsolved_.erase(i);
                progress = true;
            }
        }
    }

    std::vector<std::uint32_t> requests() {
        std::vector<std::uint32_t> requests;
        for (peel(); !unsolved_.empty(); peel()) {
            std::uint32_t best = *unsolved_.begin();
            for (const std::uint32_t i : unsolved_) {
                if (counters_of_degree(i, 2) > counters_of_degree(best, 2)) best = i;
            }
            requests.push_back(best);
            unsolved_.erase(best);
        }
        std::ranges::sort(requests);
        return requests;
    }

  private:
    const System& system_;
    std::set<std::uint32_t> unsolved_;
};

TEST(CountSketch, EveryKeyHasOneCounterInEachThird) {
    Random random(1);
    for (const std::uint32_t third : {1u, 2u, 7u, 1000u, 30'000u}) {
        const SketchShape shape{third, random()};
        for (int i = 0; i < 1000; ++i) {
            const CounterTriple at = counters_of(shape, static_cast<std::uint32_t>(random()));
            for (std::uint32_t j = 0; j < 3; ++j)
                EXPECT_EQ(at[j] / third, j);
        }
    }
}

TEST(CountSketch, SizesAreMultiplesOfThreeAboveThePeelingThreshold) {
    for (std::uint32_t n = 0; n <= 70'000; ++n) {
        const std::uint32_t counters = sketch_counters(n);
        ASSERT_EQ(counters % 3, 0u);
        ASSERT_GE(counters, 1.24 * n + 60);
        ASSERT_LE(counters, 1.25 * n + 68);
    }
}

TEST(Peeling, FindsEveryWordOfAFairSketch) {
    Peeling peeling(host_device(), 70'000, 100'000);
    unsigned stalls = 0;
    for (const std::uint32_t n : {1u, 3u, 50u, 100u, 500u, 2000u, 10'000u, 65'000u}) {
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
            System system(n, sketch_counters(n), seed % 2 == 0, seed);
            peeling.begin(system.problem());
            if (peeling.peel() != 0) {
                ++stalls;
                continue;
            }
            EXPECT_TRUE(peeling.consistent());
            EXPECT_EQ(system.solutions, system.words);
        }
    }
    EXPECT_LE(stalls, 5u);
}

TEST(Peeling, StructuredKeysPeelLikeRandomOnes) {
    Peeling peeling(host_device(), 70'000, 100'000);
    unsigned stalls = 0;
    for (const std::uint32_t stride : {1u, 2u, 64u, 1024u}) {
        for (std::uint64_t seed = 0; seed < 8; ++seed) {
            System system(5000, sketch_counters(5000), true, seed);
            for (std::uint32_t i = 0; i < 5000; ++i)
                system.keys[i] = i * stride + 3;
            make_sketch(system.shape, {system.keys}, system.words, system.sketch);
            peeling.begin(system.problem());
            stalls += peeling.peel() != 0 ? 1 : 0;
        }
    }
    EXPECT_LE(stalls, 2u);
}

TEST(Peeling, StallsAndRequestsAreThoseOfTheRule) {
    Peeling peeling(host_device(), 100, 100);
    Inactivation inactivation(host_device(), 100, 100);
    for (const std::uint32_t n : {2u, 10u, 40u, 70u}) {
        for (const std::uint32_t counters : {3u, 9u, n / 3 * 3 + 3, n * 6 / 15 * 3 + 3}) {
            for (std::uint64_t seed = 0; seed < 8; ++seed) {
                System system(n, counters, seed % 2 == 0, seed);
                SlowPeeler slow(system);
                slow.peel();
                peeling.begin(system.problem());
                ASSERT_EQ(peeling.peel(), slow.unsolved().size());
                for (std::uint32_t i = 0; i < n; ++i) {
                    ASSERT_EQ(peeling.solved(i), !slow.unsolved().contains(i));
                }
                const auto requests = inactivation.choose(peeling);
                ASSERT_TRUE(std::ranges::equal(requests, slow.requests()));
                for (const std::uint32_t i : requests)
                    peeling.supply(i, system.words[i]);
                ASSERT_EQ(peeling.peel(), 0u);
                EXPECT_TRUE(peeling.consistent());
                EXPECT_EQ(system.solutions, system.words);
            }
        }
    }
}

TEST(Peeling, LargeStallsComplete) {
    // Smaller than the problem, so that both grow.
    Peeling peeling(host_device(), 10, 10);
    Inactivation inactivation(host_device(), 10, 10);
    constexpr std::uint32_t n = 60'000;
    struct Case {
        double counters;
        double most_requests;
    };
    // Fractions of the unknowns.
    for (const Case& c :
         {Case{0.001, 1.0}, Case{0.5, 0.56}, Case{1.0, 0.11}, Case{1.1, 0.05}, Case{1.2, 0.01}}) {
        System system(n, static_cast<std::uint32_t>(c.counters * n), true, 4);
        peeling.begin(system.problem());
        ASSERT_NE(peeling.peel(), 0u);
        const auto requests = inactivation.choose(peeling);
        EXPECT_LE(requests.size(), c.most_requests * n);
        for (const std::uint32_t i : requests)
            peeling.supply(i, system.words[i]);
        ASSERT_EQ(peeling.peel(), 0u);
        EXPECT_TRUE(peeling.consistent());
        EXPECT_EQ(system.solutions, system.words);
    }
}

TEST(Peeling, DamageShows) {
    Peeling peeling(host_device(), 1000, 2000);
    System system(1000, 1500, false, 8);
    system.sketch[17] += 1;
    peeling.begin(system.problem());
    ASSERT_EQ(peeling.peel(), 0u);
    EXPECT_FALSE(peeling.consistent());
}

}  // namespace
}  // namespace sumwire::gpu
