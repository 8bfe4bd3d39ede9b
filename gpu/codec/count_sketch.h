// Count sketch of a chunk's words, added modulo 2^32.
//
// Words go in units of 1, 8 or 32 neighbours: a unit begins at a multiple of its size, and a row of
// the sketch has as many words. Every unit is added, lane by lane, to four rows that a hash of its
// key and the chunk's seed chooses. Units make a graph a 32nd as large where non-zeros come in
// runs.
//
// Rows lie in segments of equal size. A unit has a row in each of four neighbouring segments:
//
//   a = mix(key + low half of the seed)
//   b = mix(a ^ high half of the seed)
//   first segment  s = ((a + b) * 0x9e3779b1 modulo 2^32) * (segments - 3) >> 32
//   j-th row, j = 0 to 3:  (s + j) * segment_rows + (h_j * segment_rows >> 16)
//   h_0, h_1: lower, upper half of a;  h_2, h_3: of b
//
// Four segments are a plain hash into quarters, best for few units. With more segments, peeling
// starts in the outermost ones, which are sparser, and eats its way inwards at loads that a plain
// hash cannot peel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sumwire::gpu {

inline constexpr std::uint32_t rows_of_unit = 4;
inline constexpr std::uint32_t max_rows = 65536;

// Largest first.
inline constexpr std::array<std::uint32_t, 3> unit_sizes{32, 8, 1};
inline constexpr std::uint32_t max_unit_size = unit_sizes[0];

struct SketchShape {
    std::uint32_t unit_size = 1;     // words of a unit, hence of a row: of unit_sizes
    std::uint32_t segments = 4;      // at least 4
    std::uint32_t segment_rows = 1;  // at least 1
    std::uint64_t seed = 0;

    constexpr std::uint32_t rows() const { return segments * segment_rows; }
    constexpr std::size_t words() const { return std::size_t{rows()} * unit_size; }
};

// The shape for so many units; it has at most max_rows if there are at most 48,000.
//
// Single words: one chunk in twenty at most stalls, at any number. Larger units: nearly every
// peeling stalls, and inactivation, which is cheap for few units, solves the rest; one chunk in 25
// at most needs a request. Rows a unit: 1.11 and a dozen more below 600 units, 1.17 above. From
// about 1.09 on little is requested, so an expectation that is a few percent too low costs nothing.
SketchShape sketch_shape(std::uint32_t unit_size, std::uint32_t units, std::uint64_t seed);

// For each of unit_sizes: units with a non-zero word.
using UnitCounts = std::array<std::uint32_t, unit_sizes.size()>;

// Of the elements of an index, each being a word at its position.
UnitCounts count_units(std::span<const std::uint32_t> index);
// Of so many words in a row.
UnitCounts count_units(std::uint32_t words);
// Which of unit_sizes to use: the largest whose sketch is little larger than the smallest sketch;
// those before `first` are out of the question.
std::size_t best_unit_size(const UnitCounts& counts, std::size_t first = 0);

// Some units, ascending.
struct Units {
    std::uint32_t size = 1;
    std::span<std::uint32_t> keys;   // position or ordinal of the first word / size
    std::span<std::uint32_t> lanes;  // bit i: lane i is there; undefined for size 1

    std::uint32_t count() const { return static_cast<std::uint32_t>(keys.size()); }
    Units first(std::size_t n) const { return {size, keys.first(n), lanes.first(n)}; }
};

// Fills the front of `memory`, which has the size and enough keys and lanes; returns that.
Units list_units(std::span<const std::uint32_t> index, const Units& memory);
Units list_units(std::uint32_t words, const Units& memory);

using UnitRows = std::array<std::uint16_t, rows_of_unit>;

constexpr std::uint32_t mix(std::uint32_t x) {
    x = (x ^ x >> 16) * 0x85eb'ca6bu;
    x = (x ^ x >> 13) * 0xc2b2'ae35u;
    return x ^ x >> 16;
}

// The definition; find_rows is faster for many.
constexpr UnitRows rows_of(const SketchShape& shape, std::uint32_t key) {
    const std::uint32_t a = mix(key + static_cast<std::uint32_t>(shape.seed));
    const std::uint32_t b = mix(a ^ static_cast<std::uint32_t>(shape.seed >> 32));
    const std::uint64_t spread = (a + b) * 0x9e37'79b1u;
    const auto segment = static_cast<std::uint32_t>(spread * (shape.segments - 3) >> 32);
    const auto row = [&](std::uint32_t j, std::uint32_t hash) {
        return static_cast<std::uint16_t>((segment + j) * shape.segment_rows +
                                          (hash * shape.segment_rows >> 16));
    };
    return {row(0, a & 0xffff), row(1, a >> 16), row(2, b & 0xffff), row(3, b >> 16)};
}

void find_rows(const SketchShape& shape, std::span<const std::uint32_t> keys,
               std::span<UnitRows> rows);

// Overwrites the sketch, of shape.words() words, with that of `words`: the units' lanes that are
// there, one after the other. The units have the shape's size.
void make_sketch(const SketchShape& shape, const Units& units, std::span<const std::uint32_t> words,
                 std::span<std::uint32_t> sketch);

// Moves the lanes that are there to the front, one after the other: `words` has all lanes of all
// units. False if a lane that is not there is not zero.
bool pack_lanes(const Units& units, std::span<std::uint32_t> words);

}  // namespace sumwire::gpu
