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

    bool empty() const { return size_ == 0; }
    bool contains(std::uint32_t i) const { return (members_[i / 32] >> i % 32 & 1) != 0; }

    // `i` must not be a member.
    void insert(std::uint32_t i) {
        members_[i / 32] |= std::uint32_t{1} << i % 32;
        groups_[i / 1024] |= std::uint32_t{1} << i / 32 % 32;
        ++size_;
    }

    // `i` must be a member.
    void erase(std::uint32_t i) {
        members_[i / 32] &= ~(std::uint32_t{1} << i % 32);
        if (members_[i / 32] == 0) groups_[i / 1024] &= ~(std::uint32_t{1} << i / 32 % 32);
        --size_;
    }

    // The set must not be empty.
    std::uint32_t lowest() const {
        std::uint32_t group = 0;
        while (groups_[group] == 0)
            ++group;
        const std::uint32_t word = group * 32 + lowest_bit(groups_[group]);
        return word * 32 + lowest_bit(members_[word]);
    }

  private:
    static constexpr std::uint32_t words(std::uint32_t bits) { return bits / 32 + 1; }
    static std::uint32_t lowest_bit(std::uint32_t word) {
        return static_cast<std::uint32_t>(std::countr_zero(word));
    }

    std::span<std::uint32_t> members_;
    std::span<std::uint32_t> groups_;
    std::uint32_t size_ = 0;
};

}  // namespace sumwire::gpu
