#include "gpu/codec/count_sketch.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "gpu/codec/bitmap.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/codec/count_sketch.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file again.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sumwire::gpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Words = hn::CappedTag<std::uint32_t, 16>;
using WordVector = hn::Vec<Words>;

static_assert(unit_sizes == std::array<std::uint32_t, 3>{32, 8, 1});

// Bit 0 of every byte that is not zero.
HWY_INLINE WordVector bytes_in_use(WordVector v) {
    const Words d;
    v = hn::And(hn::Or(v, hn::ShiftRight<4>(v)), hn::Set(d, 0x0f0f'0f0fu));
    v = hn::And(hn::Or(v, hn::ShiftRight<2>(v)), hn::Set(d, 0x0303'0303u));
    return hn::And(hn::Or(v, hn::ShiftRight<1>(v)), hn::Set(d, 0x0101'0101u));
}

UnitCounts count_index_units(std::span<const std::uint32_t> index) {
    const Words d;
    const auto one = hn::Set(d, 1);
    std::array<WordVector, unit_sizes.size()> sums{hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    const auto add = [&](WordVector blocks) HWY_ATTR {
        sums[0] = hn::Add(sums[0], hn::Min(blocks, one));
        sums[1] = hn::Add(sums[1], hn::PopulationCount(bytes_in_use(blocks)));
        sums[2] = hn::Add(sums[2], hn::PopulationCount(blocks));
    };
    std::size_t i = 0;
    for (; i + hn::Lanes(d) <= index.size(); i += hn::Lanes(d))
        add(hn::LoadU(d, index.data() + i));
    std::array<std::uint32_t, 16> rest{};
    std::ranges::copy(index.subspan(i), rest.begin());
    add(hn::LoadU(d, rest.data()));
    return {hn::GetLane(hn::SumOfLanes(d, sums[0])), hn::GetLane(hn::SumOfLanes(d, sums[1])),
            hn::GetLane(hn::SumOfLanes(d, sums[2]))};
}

HWY_INLINE WordVector mix_all(WordVector x) {
    const Words d;
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(d, 0x85eb'ca6bu));
    x = hn::Mul(hn::Xor(x, hn::ShiftRight<13>(x)), hn::Set(d, 0xc2b2'ae35u));
    return hn::Xor(x, hn::ShiftRight<16>(x));
}

// Upper halves of the products; b below 2^16.
HWY_INLINE WordVector upper_products(WordVector a, WordVector b) {
    const auto low = hn::Mul(hn::And(a, hn::Set(Words(), 0xffff)), b);
    const auto high = hn::Mul(hn::ShiftRight<16>(a), b);
    return hn::ShiftRight<16>(hn::Add(high, hn::ShiftRight<16>(low)));
}

void find_all_rows(const SketchShape& shape, std::span<const std::uint32_t> keys,
                   std::span<UnitRows> rows) {
    const Words d;
    const auto seed_low = hn::Set(d, static_cast<std::uint32_t>(shape.seed));
    const auto seed_high = hn::Set(d, static_cast<std::uint32_t>(shape.seed >> 32));
    const auto segments = hn::Set(d, shape.segments - 3);
    const auto segment_rows = hn::Set(d, shape.segment_rows);
    const auto half = hn::Set(d, 0xffff);
    std::size_t i = 0;
    for (; i + hn::Lanes(d) <= keys.size(); i += hn::Lanes(d)) {
        const auto a = mix_all(hn::Add(hn::LoadU(d, keys.data() + i), seed_low));
        const auto b = mix_all(hn::Xor(a, seed_high));
        const auto spread = hn::Mul(hn::Add(a, b), hn::Set(d, 0x9e37'79b1u));
        const auto row_0 = hn::Mul(upper_products(spread, segments), segment_rows);
        const auto row_1 = hn::Add(row_0, segment_rows);
        const auto row_2 = hn::Add(row_1, segment_rows);
        const auto row_3 = hn::Add(row_2, segment_rows);
        const auto within = [&](WordVector hash) HWY_ATTR {
            return hn::ShiftRight<16>(hn::Mul(hash, segment_rows));
        };
        const auto at_0 = hn::Add(row_0, within(hn::And(a, half)));
        const auto at_1 = hn::Add(row_1, within(hn::ShiftRight<16>(a)));
        const auto at_2 = hn::Add(row_2, within(hn::And(b, half)));
        const auto at_3 = hn::Add(row_3, within(hn::ShiftRight<16>(b)));
        hn::StoreInterleaved2(hn::Or(at_0, hn::ShiftLeft<16>(at_1)),
                              hn::Or(at_2, hn::ShiftLeft<16>(at_3)), d,
                              reinterpret_cast<std::uint32_t*>(rows.data() + i));
    }
    for (; i < keys.size(); ++i)
        rows[i] = rows_of(shape, keys[i]);
}

}  // namespace
}  // namespace sumwire::gpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sumwire::gpu {

HWY_EXPORT(count_index_units);
HWY_EXPORT(find_all_rows);

namespace {

constexpr std::uint32_t square_root(std::uint32_t x) {
    std::uint32_t root = 0;
    for (std::uint32_t bit = 1u << 15; bit != 0; bit >>= 1) {
        const std::uint64_t larger = root | bit;
        if (larger * larger <= x) root |= bit;
    }
    return root;
}

constexpr std::uint32_t segments_for(std::uint32_t units) {
    if (units < 2000) return 24;
    if (units < 5000) return 32;
    if (units < 20'000) return 48;
    return 64;
}

SketchShape shape_of(std::uint32_t unit_size, std::uint32_t segments, std::uint32_t rows,
                     std::uint64_t seed) {
    return {unit_size, segments, std::max((rows + segments - 1) / segments, 1u), seed};
}

// Key and lanes of every unit of `size` lanes in a block's mask.
template <std::uint32_t size>
Units list_units_of(std::span<const std::uint32_t> index, const Units& memory) {
    constexpr std::uint32_t in_block = block_elements / size;
    constexpr std::uint32_t all_lanes = full_block >> (block_elements - size);
    std::uint32_t* const keys = memory.keys.data();
    std::uint32_t* const lanes = memory.lanes.data();
    std::size_t n = 0;
    for (std::uint32_t b = 0; b < index.size(); ++b) {
        if (size != block_elements && index[b] == 0) continue;
        // Without branches on single units: those of runs' ends are mispredicted.
        for (std::uint32_t i = 0; i < in_block; ++i) {
            keys[n] = b * in_block + i;
            lanes[n] = index[b] >> i * size & all_lanes;
            n += lanes[n] != 0 ? 1 : 0;
        }
    }
    return memory.first(n);
}

template <std::uint32_t size>
std::uint32_t* add_to_row(const std::uint32_t* words, std::uint32_t* row) {
    for (std::uint32_t i = 0; i < size; ++i)
        row[i] += words[i];
    return row;
}

constexpr std::size_t batch = 64;

template <std::uint32_t size>
void add_units(const SketchShape& shape, const Units& units, const std::uint32_t* words,
               std::uint32_t* sketch) {
    constexpr std::uint32_t all_lanes = full_block >> (block_elements - size);
    std::array<UnitRows, batch> rows;
    for (std::size_t begin = 0; begin < units.keys.size(); begin += batch) {
        const auto keys = units.keys.subspan(begin, std::min(batch, units.keys.size() - begin));
        find_rows(shape, keys, rows);
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const std::uint32_t lanes = size == 1 ? 1 : units.lanes[begin + i];
            std::array<std::uint32_t, size> spread;
            const std::uint32_t* unit = words;
            if (size == 1 || lanes == all_lanes) {
                words += size;
            } else {
                spread.fill(0);
                for_each_bit(lanes, [&](std::uint32_t lane) { spread[lane] = *words++; });
                unit = spread.data();
            }
            for (const std::uint16_t row : rows[i])
                add_to_row<size>(unit, sketch + std::size_t{row} * size);
        }
    }
}

template <std::uint32_t size>
bool pack_lanes_of(const Units& units, std::uint32_t* words) {
    constexpr std::uint32_t all_lanes = full_block >> (block_elements - size);
    const std::uint32_t* from = words;
    std::uint32_t* to = words;
    std::uint32_t stray = 0;
    for (const std::uint32_t lanes : units.lanes) {
        if (lanes == all_lanes) {
            if (from != to) std::memmove(to, from, size * sizeof *to);
            to += size;
        } else {
            for (std::uint32_t i = 0; i < size; ++i) {
                const bool there = (lanes >> i & 1) != 0;
                const std::uint32_t word = from[i];
                stray |= there ? 0 : word;
                if (there) *to++ = word;
            }
        }
        from += size;
    }
    return stray == 0;
}

}  // namespace

SketchShape sketch_shape(std::uint32_t unit_size, std::uint32_t units, std::uint64_t seed) {
    // Measured; for the coupled layouts at f = 1.09 + 10.5 / sqrt(units).
    if (unit_size == 1 && units < 2000) {
        return shape_of(unit_size, 4, units + (units * 67 + 199) / 200 + 14, seed);
    }
    if (unit_size != 1 && units < 600) {
        return shape_of(unit_size, 4, units + (units * 11 + 99) / 100 + 12, seed);
    }
    const std::uint32_t rows = unit_size == 1
                                   ? units + units * 9 / 100 + square_root(units) * 21 / 2
                                   : units + units * 17 / 100;
    return shape_of(unit_size, segments_for(units), rows, seed);
}

UnitCounts count_units(std::span<const std::uint32_t> index) {
    return HWY_DYNAMIC_DISPATCH(count_index_units)(index);
}

UnitCounts count_units(std::uint32_t words) {
    UnitCounts counts;
    for (std::size_t i = 0; i < counts.size(); ++i)
        counts[i] = (words + unit_sizes[i] - 1) / unit_sizes[i];
    return counts;
}

std::size_t best_unit_size(const UnitCounts& counts, std::size_t first) {
    const auto words = [&](std::size_t i) {
        return sketch_shape(unit_sizes[i], counts[i], 0).words();
    };
    std::size_t smallest = words(first);
    for (std::size_t i = first + 1; i < counts.size(); ++i)
        smallest = std::min(smallest, words(i));
    const std::size_t enough = smallest + smallest / 8 + std::min<std::size_t>(smallest / 4, 512);
    while (words(first) > enough)
        ++first;
    return first;
}

Units list_units(std::span<const std::uint32_t> index, const Units& memory) {
    switch (memory.size) {
        case 32:
            return list_units_of<32>(index, memory);
        case 8:
            return list_units_of<8>(index, memory);
        default:
            break;
    }
    const std::uint32_t n = population(index);
    list_positions(index, memory.keys);
    return memory.first(n);
}

Units list_units(std::uint32_t words, const Units& memory) {
    const std::uint32_t all_lanes = full_block >> (block_elements - memory.size);
    std::uint32_t n = 0;
    for (std::uint32_t rest = words; rest != 0; ++n) {
        const std::uint32_t lanes = std::min(rest, memory.size);
        memory.keys[n] = n;
        memory.lanes[n] = all_lanes >> (memory.size - lanes);
        rest -= lanes;
    }
    return memory.first(n);
}

void find_rows(const SketchShape& shape, std::span<const std::uint32_t> keys,
               std::span<UnitRows> rows) {
    HWY_DYNAMIC_DISPATCH(find_all_rows)(shape, keys, rows);
}

void make_sketch(const SketchShape& shape, const Units& units, std::span<const std::uint32_t> words,
                 std::span<std::uint32_t> sketch) {
    std::ranges::fill(sketch, 0);
    switch (shape.unit_size) {
        case 32:
            return add_units<32>(shape, units, words.data(), sketch.data());
        case 8:
            return add_units<8>(shape, units, words.data(), sketch.data());
        default:
            return add_units<1>(shape, units, words.data(), sketch.data());
    }
}

bool pack_lanes(const Units& units, std::span<std::uint32_t> words) {
    switch (units.size) {
        case 32:
            return pack_lanes_of<32>(units, words.data());
        case 8:
            return pack_lanes_of<8>(units, words.data());
        default:
            return true;
    }
}

}  // namespace sumwire::gpu
#endif
