#include "switch_emu/combine.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace sumwire::aggregator {
namespace {

static_assert(std::endian::native == std::endian::little, "payload words are little endian");

// The copies are how C++ spells an unaligned load; the compiler turns the loop into vector code,
// which without the unrolling does half as many bytes a second.
template <class Element, class Function>
void combine_as(std::byte* __restrict into, const std::byte* __restrict from, std::size_t bytes,
                Function function) {
    const std::size_t count = bytes / sizeof(Element);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < count; ++i) {
        Element a;
        Element b;
        std::memcpy(&a, into + i * sizeof a, sizeof a);
        std::memcpy(&b, from + i * sizeof b, sizeof b);
        a = function(a, b);
        std::memcpy(into + i * sizeof a, &a, sizeof a);
    }
}

template <class Element>
void add(std::span<std::byte> into, std::span<const std::byte> from) {
    combine_as<Element>(into.data(), from.data(), into.size(),
                        [](Element a, Element b) { return static_cast<Element>(a + b); });
}

template <class Element>
void keep_larger(std::span<std::byte> into, std::span<const std::byte> from) {
    combine_as<Element>(into.data(), from.data(), into.size(),
                        [](Element a, Element b) { return std::max(a, b); });
}

}  // namespace

void combine(nic::Op op, std::span<std::byte> into, std::span<const std::byte> from) {
    switch (op) {
        case nic::Op::none:
            break;
        case nic::Op::bit_or:
            combine_as<std::uint32_t>(into.data(), from.data(), into.size(),
                                      [](std::uint32_t a, std::uint32_t b) { return a | b; });
            break;
        case nic::Op::add_i32:
            add<std::uint32_t>(into, from);
            break;
        case nic::Op::add_i64:
            add<std::uint64_t>(into, from);
            break;
        case nic::Op::add_f32:
            add<float>(into, from);
            break;
        case nic::Op::add_f64:
            add<double>(into, from);
            break;
        case nic::Op::max_u8:
            keep_larger<std::uint8_t>(into, from);
            break;
        case nic::Op::max_u16:
            keep_larger<std::uint16_t>(into, from);
            break;
        case nic::Op::max_u32:
            keep_larger<std::uint32_t>(into, from);
            break;
        case nic::Op::max_u64:
            keep_larger<std::uint64_t>(into, from);
            break;
    }
}

}  // namespace sumwire::aggregator
