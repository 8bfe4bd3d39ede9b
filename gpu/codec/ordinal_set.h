// A set of small integers as bits, with a second level that says which words have some.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/codec/carve.h"

namespace sumwire::gpu {

class OrdinalSet {
  public:
    static constexpr std::uint32_t none = UINT32_MAX;

    static constexpr std::size_t bytes(std::uint32_t capacity) {
        return carved_bytes<std::uint32_t>(words(capacity)) +
               carved_bytes<std::uint32_t>(words(words(capacity)));
    }

    OrdinalSet() = default;
    // Empty, in memory taken off the front.
    OrdinalSet(std::span<std::byte>& memory, std::uint32_t capacity)
        : members_(carve<std::uint32_t>(memory, words(capacity))),
          groups_(carve<std::uint32_t>(memory, words(words(capacity)))) {
        std::ranges::fill(members_, 0);
        std::ranges::fill(groups_, 0);
    }

    // Without a branch.
    void insert_if(bool condition, std::uint32_t i) {
        const auto bit = static_cast<std::uint32_t>(condition);
        members_[i / 32] |= bit << i % 32;
        groups_[i / 1024] |= bit << i / 32 % 32;
    }

    // Takes the lowest out; `none` if the set is empty.
    std::uint32_t take_lowest() {
        const auto group = static_cast<std::size_t>(
            std::ranges::find_if(groups_, [](std::uint32_t g) { return g != 0; }) -
            groups_.begin());
        if (group == groups_.size()) return none;
        const auto word = static_cast<std::uint32_t>(group * 32) + lowest_bit(groups_[group]);
        const std::uint32_t i = word * 32 + lowest_bit(members_[word]);
        members_[word] &= members_[word] - 1;
        if (members_[word] == 0) groups_[group] &= groups_[group] - 1;
        return i;
    }

  private:
    static constexpr std::uint32_t words(std::uint32_t bits) { return bits / 32 + 1; }
    static std::uint32_t lowest_bit(std::uint32_t word) {
        return static_cast<std::uint32_t>(std::countr_zero(word));
    }

    std::span<std::uint32_t> members_;
    std::span<std::uint32_t> groups_;
};

}  // namespace sumwire::gpu
