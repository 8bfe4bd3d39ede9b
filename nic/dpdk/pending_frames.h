// Frames that are built, and counted as taken, but that their device had no room for yet.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace sumwire::nic {

template <std::size_t capacity>
class PendingFrames {
  public:
    PendingFrames() = default;
    ~PendingFrames() { drop(); }
    PendingFrames(const PendingFrames&) = delete;
    PendingFrames& operator=(const PendingFrames&) = delete;

    std::span<rte_mbuf*> frames() { return std::span(frames_).subspan(first_, end_ - first_); }
    bool empty() const { return first_ == end_; }

    // Takes them over; there must be none yet.
    void put(std::span<rte_mbuf* const> frames) {
        std::ranges::copy(frames, frames_.begin());
        first_ = 0;
        end_ = frames.size();
    }
    // The first ones are somebody else's now.
    void pop(std::size_t count) { first_ += count; }
    void drop() {
        if (!empty()) rte_pktmbuf_free_bulk(frames().data(), static_cast<unsigned>(end_ - first_));
        first_ = end_;
    }

  private:
    std::array<rte_mbuf*, capacity> frames_{};
    std::size_t first_ = 0;
    std::size_t end_ = 0;
};

}  // namespace sumwire::nic
