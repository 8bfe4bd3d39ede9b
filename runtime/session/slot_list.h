// Intrusive doubly linked lists over slot numbers: a slot is in one list at most, and moves, enters
// and leaves in constant time without allocation.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace sumwire::runtime {

inline constexpr std::uint32_t no_slot = std::numeric_limits<std::uint32_t>::max();

struct SlotLinks {
    explicit SlotLinks(std::size_t slots) : previous(slots, no_slot), next(slots, no_slot) {}
    std::vector<std::uint32_t> previous;
    std::vector<std::uint32_t> next;
};

class SlotList {
  public:
    std::uint32_t front() const { return head_; }
    bool empty() const { return head_ == no_slot; }

    void push_back(SlotLinks& links, std::uint32_t slot) {
        links.previous[slot] = tail_;
        links.next[slot] = no_slot;
        (tail_ == no_slot ? head_ : links.next[tail_]) = slot;
        tail_ = slot;
    }

    void remove(SlotLinks& links, std::uint32_t slot) {
        const std::uint32_t before = links.previous[slot];
        const std::uint32_t after = links.next[slot];
        (before == no_slot ? head_ : links.next[before]) = after;
        (after == no_slot ? tail_ : links.previous[after]) = before;
    }

  private:
    std::uint32_t head_ = no_slot;
    std::uint32_t tail_ = no_slot;
};

}  // namespace sumwire::runtime
