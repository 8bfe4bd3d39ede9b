// A queue of buffer indices with many writers and one reader, lock-free.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>

namespace sumwire::nic {

// Never full, because an index may be in the ring only once and there is room for all of them; it
// must come from an IndexPool of the same count, and go back there after pop.
class IndexRing {
  public:
    explicit IndexRing(std::uint32_t count)
        : mask_(std::bit_ceil(count) - 1),
          cells_(std::make_unique<std::atomic<std::uint64_t>[]>(mask_ + std::size_t{1})) {}

    // Any thread.
    void push(std::uint32_t index) {
        const std::uint32_t ticket = tail_.fetch_add(1, std::memory_order_acq_rel);
        cells_[ticket & mask_].store(filled(ticket) | index, std::memory_order_release);
    }

    // The reader's thread. Empty also while the next writer is between ticket and store.
    std::optional<std::uint32_t> pop() {
        if (empty()) return std::nullopt;
        const std::uint64_t cell = cells_[head_ & mask_].load(std::memory_order_acquire);
        ++head_;
        return static_cast<std::uint32_t>(cell);
    }

    bool empty() const {
        const std::uint64_t cell = cells_[head_ & mask_].load(std::memory_order_acquire);
        return (cell >> 32) != (filled(head_) >> 32);
    }

  private:
    // The upper half of a cell tells which round of the ring filled it; 0 is a cell never used.
    static std::uint64_t filled(std::uint32_t ticket) {
        return static_cast<std::uint64_t>(ticket + 1U) << 32;
    }

    std::uint32_t mask_;
    std::unique_ptr<std::atomic<std::uint64_t>[]> cells_;
    alignas(64) std::atomic<std::uint32_t> tail_ = 0;
    alignas(64) std::uint32_t head_ = 0;
};

}  // namespace sumwire::nic
