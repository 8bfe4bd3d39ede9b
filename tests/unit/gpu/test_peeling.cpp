#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "gpu/codec/inactivation.h"
#include "gpu/codec/peeling.h"

namespace sumwire::gpu {
namespace {

using Random = std::mt19937_64;
using Words = std::vector<std::uint32_t>;

Words some_keys(std::uint32_t units, std::uint32_t below, Random& random) {
    std::set<std::uint32_t> distinct;
    while (distinct.size() < units)
        distinct.insert(static_cast<std::uint32_t>(random() % below));
    return {distinct.begin(), distinct.end()};
}

Words ordinals(std::uint32_t units) {
    Words keys(units);
    std::iota(keys.begin(), keys.end(), 0u);
    return keys;
}

// A sketch with known words, and what it is made of.
struct System {
    System(const SketchShape& sketch_shape, Words unit_keys, std::uint64_t seed)
        : shape(sketch_shape), keys(std::move(unit_keys)) {
        Random random(seed);
        shape.seed = random();
        const std::uint32_t all = ~0u >> (32 - shape.unit_size);
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const auto some = static_cast<std::uint32_t>(random()) & all;
            lanes.push_back(shape.unit_size == 1 || random() % 2 == 0 ? all : some | 1);
            for (std::uint32_t lane = 0; lane < shape.unit_size; ++lane) {
                const bool there = (lanes[i] >> lane & 1) != 0;
                words.push_back(there ? static_cast<std::uint32_t>(random() >> random() % 33) : 0);
                if (there) packed.push_back(words.back());
            }
        }
        sketch.resize(shape.words());
        make_sketch(shape, units(), packed, sketch);
        solutions.resize(words.size());
    }

    Units units() { return {shape.unit_size, keys, lanes}; }
    PeelingProblem problem() { return {shape, keys, sketch, solutions}; }
    UnitRows rows(std::uint32_t unit) const { return rows_of(shape, keys[unit]); }
    std::uint32_t count() const { return static_cast<std::uint32_t>(keys.size()); }
    Words words_of(std::span<const std::uint32_t> some_units) const {
        Words of;
        for (const std::uint32_t unit : some_units) {
            const auto* const first = words.data() + std::size_t{unit} * shape.unit_size;
            of.insert(of.end(), first, first + shape.unit_size);
        }
        return of;
    }

    SketchShape shape;
    Words keys;
    Words lanes;
    Words words;   // all lanes
    Words packed;  // those that are there
    Words sketch;
    Words solutions;
};

// Solves it, whatever it takes. How many units were requested.
std::size_t solve(System& system, Peeling& peeling, Inactivation& inactivation) {
    std::size_t requested = 0;
    peeling.begin(system.problem());
    if (peeling.peel() != 0) {
        const auto requests = inactivation.choose(peeling);
        requested = requests.size();
        inactivation.complete(peeling, system.words_of(requests));
        EXPECT_EQ(peeling.peel(), 0u);
    }
    EXPECT_TRUE(peeling.consistent());
    EXPECT_EQ(system.solutions, system.words);
    EXPECT_TRUE(pack_lanes(system.units(), system.solutions));
    system.solutions.resize(system.packed.size());
    EXPECT_EQ(system.solutions, system.packed);
    return requested;
}

// Plain and slow.
class SlowPeeler {
  public:
    explicit SlowPeeler(const System& system) : system_(system) {
        for (std::uint32_t i = 0; i < system.count(); ++i)
            unsolved_.insert(i);
        peel();
    }

    const std::set<std::uint32_t>& unsolved() const { return unsolved_; }

    Words put_aside() {
        Words aside;
        while (!unsolved_.empty()) {
            std::uint32_t unit = *unsolved_.begin();
            for (std::uint32_t row = 0; row < system_.shape.rows(); ++row) {
                const Words members = members_of(row);
                if (members.size() != 2) continue;
                unit = members[0];
                break;
            }
            aside.push_back(unit);
            unsolved_.erase(unit);
            peel();
        }
        return aside;
    }

    // Of the unsolved units, those that their rows leave undetermined modulo 2.
    std::size_t undetermined() const {
        std::vector<std::set<std::uint32_t>> basis;  // with different lowest rows
        for (const std::uint32_t unit : unsolved_) {
            const UnitRows rows = system_.rows(unit);
            std::set<std::uint32_t> vector(rows.begin(), rows.end());
            for (bool reduced = true; reduced && !vector.empty();) {
                reduced = false;
                for (const auto& other : basis) {
                    if (*other.begin() != *vector.begin()) continue;
                    std::set<std::uint32_t> sum;
                    std::ranges::set_symmetric_difference(vector, other,
                                                          std::inserter(sum, sum.end()));
                    vector = sum;
                    reduced = true;
                    break;
                }
            }
            if (!vector.empty()) basis.push_back(vector);
        }
        return unsolved_.size() - basis.size();
    }

  private:
    // Ascending.
    Words members_of(std::uint32_t row) const {
        Words members;
        for (const std::uint32_t unit : unsolved_) {
            if (std::ranges::count(system_.rows(unit), row) != 0) members.push_back(unit);
        }
        return members;
    }

    void peel() {
        for (bool progress = true; progress;) {
            progress = false;
            for (std::uint32_t row = 0; row < system_.shape.rows(); ++row) {
                const Words members = members_of(row);
                if (members.size() != 1) continue;
                unsolved_.erase(members[0]);
                progress = true;
            }
        }
    }

    const System& system_;
    std::set<std::uint32_t> unsolved_;
};

TEST(CountSketch, RowsAreThoseOfTheDefinition) {
    Random random(1);
    for (const std::uint32_t segments : {4u, 5u, 24u, 64u}) {
        for (const std::uint32_t segment_rows : {1u, 2u, 85u, 1000u}) {
            const SketchShape shape{1, segments, segment_rows, random()};
            for (const std::uint32_t n : {1u, 7u, 8u, 100u}) {
                const Words keys = some_keys(n, 65536, random);
                std::vector<UnitRows> rows(n);
                find_rows(shape, keys, rows);
                for (std::uint32_t i = 0; i < n; ++i) {
                    EXPECT_EQ(rows[i], rows_of(shape, keys[i]));
                    for (std::uint32_t j = 0; j < rows_of_unit; ++j) {
                        EXPECT_EQ(rows[i][j] / segment_rows, rows[i][0] / segment_rows + j);
                        EXPECT_LT(rows[i][j], shape.rows());
                    }
                }
            }
        }
    }
    // Values by hand, for other implementations.
    EXPECT_EQ(mix(1), 0x514e28b7u);
    EXPECT_EQ(mix(0), 0u);
    const SketchShape shape{1, 24, 50, 0x0123'4567'89ab'cdefu};
    const std::uint32_t a = mix(77 + 0x89ab'cdefu);
    const std::uint32_t b = mix(a ^ 0x0123'4567u);
    const std::uint32_t s = static_cast<std::uint32_t>(
        static_cast<std::uint64_t>(static_cast<std::uint32_t>((a + b) * 0x9e37'79b1u)) * 21 >> 32);
    const UnitRows expected{static_cast<std::uint16_t>(s * 50 + (a & 0xffff) * 50 / 65536),
                            static_cast<std::uint16_t>((s + 1) * 50 + (a >> 16) * 50 / 65536),
                            static_cast<std::uint16_t>((s + 2) * 50 + (b & 0xffff) * 50 / 65536),
                            static_cast<std::uint16_t>((s + 3) * 50 + (b >> 16) * 50 / 65536)};
    EXPECT_EQ(rows_of(shape, 77), expected);
}

TEST(CountSketch, RowsAreUsedEvenly) {
    const SketchShape shape = sketch_shape(1, 20'000, 3);
    std::vector<unsigned> uses(shape.segments);
    for (std::uint32_t key = 0; key < 60'000; ++key)
        ++uses[rows_of(shape, key)[0] / shape.segment_rows];
    const double mean = 60'000.0 / (shape.segments - 3);
    for (std::uint32_t s = 0; s + 3 < shape.segments; ++s)
        EXPECT_NEAR(uses[s], mean, 6 * std::sqrt(mean));
}

TEST(CountSketch, SizesAreLittleAboveTheUnits) {
    for (std::uint32_t n = 0; n <= 48'000; ++n) {
        for (const std::uint32_t size : unit_sizes) {
            const SketchShape shape = sketch_shape(size, n, 0);
            ASSERT_GE(shape.segments, 4u);
            ASSERT_GE(shape.segment_rows, 1u);
            ASSERT_LE(shape.rows(), max_rows);
            ASSERT_EQ(shape.words(), std::size_t{shape.rows()} * size);
            ASSERT_GE(shape.rows(), 1.08 * n + 12);
            ASSERT_LE(shape.rows(), 1.36 * n + 18);
            if (size != 1) {
                ASSERT_LE(shape.rows(), 1.17 * n + 64);
            }
        }
    }
}

TEST(CountSketch, UnitsOfAnIndexAreListedAndCounted) {
    Random random(4);
    for (const std::uint32_t blocks : {1u, 3u, 8u, 33u, 2048u}) {
        for (unsigned i = 0; i < 6; ++i) {
            Words index(blocks);
            for (auto& mask : index) {
                const auto bits = static_cast<std::uint32_t>(random());
                const Words masks{0, ~0u, bits, bits & 0xff00'ff00, 1u << bits % 32, 0xff};
                mask = masks[i < 5 ? random() % masks.size() : 0];
            }
            const UnitCounts counts = count_units(index);
            for (std::size_t s = 0; s < unit_sizes.size(); ++s) {
                const std::uint32_t size = unit_sizes[s];
                Words keys;
                Words lanes;
                for (std::uint32_t key = 0; key < blocks * 32 / size; ++key) {
                    std::uint32_t mask = 0;
                    for (std::uint32_t lane = 0; lane < size; ++lane) {
                        const std::uint32_t at = key * size + lane;
                        mask |= (index[at / 32] >> at % 32 & 1) << lane;
                    }
                    if (mask == 0) continue;
                    keys.push_back(key);
                    lanes.push_back(mask);
                }
                EXPECT_EQ(counts[s], keys.size());
                Words key_memory(blocks * 32 / size);
                Words lane_memory(blocks * 32 / size);
                const Units units = list_units(index, {size, key_memory, lane_memory});
                EXPECT_EQ(units.size, size);
                EXPECT_TRUE(std::ranges::equal(units.keys, keys));
                if (size != 1) {
                    EXPECT_TRUE(std::ranges::equal(units.lanes, lanes));
                }
            }
        }
    }
}

TEST(CountSketch, UnitsOfWordsInARow) {
    for (const std::uint32_t words : {1u, 8u, 31u, 32u, 33u, 1000u}) {
        const UnitCounts counts = count_units(words);
        for (std::size_t s = 0; s < unit_sizes.size(); ++s) {
            Words keys(words);
            Words lanes(words);
            const Units units = list_units(words, {unit_sizes[s], keys, lanes});
            ASSERT_EQ(units.count(), counts[s]);
            std::uint32_t listed = 0;
            for (std::uint32_t i = 0; i < units.count(); ++i) {
                EXPECT_EQ(units.keys[i], i);
                EXPECT_EQ(units.lanes[i] & (units.lanes[i] + 1), 0u);
                listed += static_cast<std::uint32_t>(std::popcount(units.lanes[i]));
            }
            EXPECT_EQ(listed, words);
        }
    }
}

TEST(CountSketch, IsTheSumOverRows) {
    Random random(6);
    for (const std::uint32_t size : unit_sizes) {
        for (const std::uint32_t n : {0u, 1u, 63u, 64u, 200u}) {
            const System system(sketch_shape(size, n, 0), some_keys(n, 2000, random), n);
            Words expected(system.shape.words());
            for (std::uint32_t i = 0; i < n; ++i) {
                for (const std::uint16_t row : system.rows(i)) {
                    for (std::uint32_t lane = 0; lane < size; ++lane)
                        expected[row * size + lane] += system.words[i * size + lane];
                }
            }
            EXPECT_EQ(system.sketch, expected);
        }
    }
}

TEST(CountSketch, UnitsAreAsLargeAsTheIndexAllows) {
    const auto best = [](const Words& index) {
        return unit_sizes[best_unit_size(count_units(index))];
    };
    Random random(7);
    Words index(2048);
    const auto fill = [&](auto mask) {
        for (std::uint32_t b = 0; b < index.size(); ++b)
            index[b] = mask(b);
        return index;
    };
    // Rows of 64, one in ten; aligned bytes; runs of 64 anywhere; strides; scattered.
    EXPECT_EQ(best(fill([&](auto b) { return b / 2 % 10 == 3 ? ~0u : 0; })), 32u);
    EXPECT_EQ(best(fill([&](auto) { return 0xffu << random() % 4 * 8; })), 8u);
    EXPECT_EQ(best(fill([&](auto b) {
                  return b % 16 == 4 ? ~0u << 13 : b % 16 == 5 ? ~0u : b % 16 == 6 ? 0x1fffu : 0;
              })),
              8u);
    EXPECT_EQ(best(fill([&](auto b) { return b % 4 == 0 ? 8u : 0; })), 1u);
    EXPECT_EQ(best(fill([&](auto) { return 1u << random() % 32; })), 1u);
    EXPECT_EQ(best(fill([&](auto) { return static_cast<std::uint32_t>(random() & random()); })),
              1u);
}

TEST(Peeling, FindsEveryWordOfAFairSketch) {
    Peeling peeling(host_device(), max_units, max_rows);
    Inactivation inactivation(host_device(), max_units, max_rows);
    for (const std::uint32_t size : unit_sizes) {
        for (const std::uint32_t n : {0u, 1u, 3u, 50u, 300u, 599u, 600u, 2000u, 20'000u, 48'000u}) {
            if (n * size > 65536) continue;
            for (std::uint64_t seed = 0; seed < 5; ++seed) {
                Random random(seed);
                Words keys = seed % 2 == 0 ? ordinals(n) : some_keys(n, 65536, random);
                System system(sketch_shape(size, n, 0), keys, seed);
                solve(system, peeling, inactivation);
            }
        }
    }
}

TEST(Peeling, SeldomStallsOnSingleWords) {
    Peeling peeling(host_device(), max_units, max_rows);
    for (const std::uint32_t n : {50u, 300u, 1000u, 1999u, 2000u, 5000u, 9400u, 13'000u, 40'000u}) {
        const unsigned trials = n < 5000 ? 200 : 50;
        unsigned stalls = 0;
        for (std::uint64_t seed = 0; seed < trials; ++seed) {
            System system(sketch_shape(1, n, 0), ordinals(n), seed);
            peeling.begin(system.problem());
            stalls += peeling.peel() != 0 ? 1 : 0;
        }
        EXPECT_LE(stalls, trials / 8) << n;
    }
}

TEST(Inactivation, SeldomRequestsUnits) {
    Peeling peeling(host_device(), max_units, max_rows);
    Inactivation inactivation(host_device(), max_units, max_rows);
    for (const std::uint32_t n : {20u, 64u, 130u, 290u, 590u, 1000u, 2000u}) {
        const unsigned trials = n < 1000 ? 300 : 60;
        unsigned requests = 0;
        for (std::uint64_t seed = 0; seed < trials; ++seed) {
            System system(sketch_shape(8, n, 0), ordinals(n), seed);
            requests += solve(system, peeling, inactivation) != 0 ? 1 : 0;
        }
        EXPECT_LE(requests, trials / 12) << n;
    }
}

TEST(Inactivation, AnExpectationATenthTooLowCostsNextToNothing) {
    Peeling peeling(host_device(), max_units, max_rows);
    Inactivation inactivation(host_device(), max_units, max_rows);
    for (const std::uint32_t n : {130u, 290u, 500u}) {
        std::size_t requests = 0;
        for (std::uint64_t seed = 0; seed < 50; ++seed) {
            System system(sketch_shape(32, n * 9 / 10, 0), ordinals(n), seed);
            requests += solve(system, peeling, inactivation);
        }
        EXPECT_LE(requests, n) << n;
    }
}

TEST(Peeling, StructuredKeysPeelLikeRandomOnes) {
    Peeling peeling(host_device(), max_units, max_rows);
    Inactivation inactivation(host_device(), max_units, max_rows);
    unsigned stalls = 0;
    for (const std::uint32_t n : {64u, 512u, 3000u}) {
        for (const std::uint32_t stride : {1u, 2u, 64u, 128u, 1024u}) {
            for (std::uint64_t seed = 0; seed < 8; ++seed) {
                Words keys = ordinals(n);
                for (auto& key : keys)
                    key = key * stride + 3;
                System system(sketch_shape(1, n, 0), keys, seed);
                peeling.begin(system.problem());
                stalls += peeling.peel() != 0 ? 1 : 0;
                System again(sketch_shape(1, n, 0), keys, seed);
                solve(again, peeling, inactivation);
            }
        }
    }
    EXPECT_LE(stalls, 10u);
}

TEST(Inactivation, StallsAndRequestsAreThoseOfTheRule) {
    Peeling peeling(host_device(), 100, 200);
    Inactivation inactivation(host_device(), 100, 200);
    for (const std::uint32_t size : unit_sizes) {
        for (const std::uint32_t n : {2u, 10u, 40u, 90u}) {
            for (const std::uint32_t segment_rows : {1u, 2u, n / 8, n / 4, n / 4 + 2}) {
                if (segment_rows == 0) continue;
                for (std::uint64_t seed = 0; seed < 6; ++seed) {
                    const std::uint32_t segments = seed % 3 == 2 ? 6 : 4;
                    Random random(seed);
                    System system({size, segments, segment_rows, 0}, some_keys(n, 500, random),
                                  seed);
                    SlowPeeler slow(system);
                    peeling.begin(system.problem());
                    ASSERT_EQ(peeling.peel(), slow.unsolved().size());
                    for (std::uint32_t i = 0; i < n; ++i)
                        ASSERT_EQ(peeling.solved(i), !slow.unsolved().contains(i));
                    if (slow.unsolved().empty()) continue;

                    const auto requests = inactivation.choose(peeling);
                    const std::size_t undetermined = slow.undetermined();
                    const Words aside = slow.put_aside();
                    ASSERT_TRUE(std::ranges::equal(inactivation.put_aside(), aside));
                    ASSERT_TRUE(std::ranges::is_sorted(requests));
                    for (const std::uint32_t unit : requests)
                        ASSERT_EQ(std::ranges::count(aside, unit), 1);
                    ASSERT_EQ(requests.size(), aside.size() > Inactivation::max_eliminated
                                                   ? aside.size()
                                                   : undetermined);
                    inactivation.complete(peeling, system.words_of(requests));
                    ASSERT_EQ(peeling.peel(), 0u);
                    ASSERT_TRUE(peeling.consistent());
                    ASSERT_EQ(system.solutions, system.words);
                }
            }
        }
    }
}

TEST(Inactivation, LargeStallsComplete) {
    // Smaller than the problem, so that both grow.
    Peeling peeling(host_device(), 10, 10);
    Inactivation inactivation(host_device(), 10, 10);
    constexpr std::uint32_t n = 45'000;
    struct Case {
        double rows;
        double most_requests;
    };
    // Fractions of the units.
    for (const Case& c : {Case{0.001, 1.0}, Case{0.5, 0.56}, Case{1.0, 0.11}, Case{1.1, 0.02}}) {
        const auto segment_rows = static_cast<std::uint32_t>(c.rows * n / 64) + 1;
        System system({1, 64, segment_rows, 0}, ordinals(n), 4);
        const std::size_t requests = solve(system, peeling, inactivation);
        EXPECT_GT(requests, 0u);
        EXPECT_LE(requests, c.most_requests * n);
    }
    // As many units as there can be, in as few rows.
    System crowded({1, 4, 1, 0}, ordinals(max_units), 5);
    EXPECT_EQ(solve(crowded, peeling, inactivation), max_units - 1);
}

TEST(Peeling, DamageShows) {
    Peeling peeling(host_device(), 1000, 2000);
    Inactivation inactivation(host_device(), 1000, 2000);
    for (const std::uint32_t size : unit_sizes) {
        for (const std::uint32_t n : {300u, 700u}) {
            for (std::uint64_t seed = 0; seed < 10; ++seed) {
                System system(sketch_shape(size, n, 0), ordinals(n), seed);
                system.sketch[seed * 17 % system.sketch.size()] += 1 + static_cast<int>(seed) * 4;
                peeling.begin(system.problem());
                if (peeling.peel() != 0) {
                    const auto requests = inactivation.choose(peeling);
                    inactivation.complete(peeling, system.words_of(requests));
                    ASSERT_EQ(peeling.peel(), 0u);
                }
                EXPECT_FALSE(peeling.consistent());
            }
        }
    }
}

TEST(Peeling, AnythingAtAllEndsWithoutASolution) {
    Peeling peeling(host_device(), 2000, 2000);
    Inactivation inactivation(host_device(), 2000, 2000);
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Random random(seed);
        const std::uint32_t size = unit_sizes[seed % 3];
        const SketchShape shape{size, 4 + static_cast<std::uint32_t>(random() % 30),
                                1 + static_cast<std::uint32_t>(random() % 20), 0};
        const auto n = static_cast<std::uint32_t>(random() % 1500);
        System system(shape, some_keys(n, 65536, random), seed);
        for (auto& word : system.sketch)
            word = static_cast<std::uint32_t>(random());
        peeling.begin(system.problem());
        if (peeling.peel() != 0) {
            const auto requests = inactivation.choose(peeling);
            inactivation.complete(peeling, Words(requests.size() * size, 7));
            EXPECT_EQ(peeling.peel(), 0u);
        }
        // A system with more units than rows may happen to have one.
        if (n < shape.rows() / 2) {
            EXPECT_FALSE(peeling.consistent());
        }
    }
}

TEST(CountSketch, StrayLanesAreNoticed) {
    Words keys{0, 5, 9};
    Words lanes{0xff, 0x0f, 0x81};
    Words words(24, 1);
    EXPECT_FALSE(pack_lanes({8, keys, lanes}, words));
    for (std::uint32_t i = 0; i < 24; ++i)
        words[i] = (lanes[i / 8] >> i % 8 & 1) != 0 ? i : 0;
    EXPECT_TRUE(pack_lanes({8, keys, lanes}, words));
    words.resize(14);
    EXPECT_EQ(words, (Words{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16, 23}));
}

}  // namespace
}  // namespace sumwire::gpu
