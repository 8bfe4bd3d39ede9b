// Count sketch: every word is added, modulo 2^32, to three counters, one in each third of the
// sketch, that a hash of the word's key and the chunk's seed chooses.
//
//   a = mix(key + low half of the seed)     counter mulhi(a, third)
//   b = mix(a ^ high half of the seed)      counter mulhi(b, third) + third
//   c = mix(b + 0x9e3779b9)                 counter mulhi(c, third) + 2 third
//
// mulhi: the upper half of the 64-bit product; mix: below.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace sumwire::gpu {

struct SketchShape {
    std::uint32_t third = 0;  // counters in a third, at least 1
    std::uint64_t seed = 0;

    std::uint32_t counters() const { return 3 * third; }
};

// Counters for `unknowns` words: 1.245 of them and 64, to a multiple of 3. So two chunks in a
// hundred stall at 50 to 300 unknowns, one at 500, and one in two hundred and fewer from 1200 on.
constexpr std::uint32_t sketch_counters(std::uint32_t unknowns) {
    const std::uint64_t counters = (std::uint64_t{unknowns} * 1245 + 999) / 1000 + 64;
    return static_cast<std::uint32_t>((counters + 2) / 3 * 3);
}

constexpr std::uint32_t mix(std::uint32_t x) {
    x = (x ^ x >> 16) * 0x85eb'ca6bu;
    x = (x ^ x >> 13) * 0xc2b2'ae35u;
    return x ^ x >> 16;
}

constexpr std::uint32_t mulhi(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::uint32_t>(std::uint64_t{a} * b >> 32);
}

using CounterTriple = std::array<std::uint32_t, 3>;

constexpr CounterTriple counters_of(const SketchShape& shape, std::uint32_t key) {
    const std::uint32_t a = mix(key + static_cast<std::uint32_t>(shape.seed));
    const std::uint32_t b = mix(a ^ static_cast<std::uint32_t>(shape.seed >> 32));
    const std::uint32_t c = mix(b + 0x9e37'79b9u);
    return {mulhi(a, shape.third), mulhi(b, shape.third) + shape.third,
            mulhi(c, shape.third) + 2 * shape.third};
}

// The words of a sketch and what stands for them: the word's ordinal, or a key of its own.
struct Keys {
    std::span<const std::uint32_t> own;  // empty: ordinals

    std::uint32_t operator[](std::uint32_t ordinal) const {
        return own.empty() ? ordinal : own[ordinal];
    }
};

// Overwrites the sketch, of shape.counters() words, with that of `words`.
void make_sketch(const SketchShape& shape, const Keys& keys, std::span<const std::uint32_t> words,
                 std::span<std::uint32_t> sketch);

}  // namespace sumwire::gpu
