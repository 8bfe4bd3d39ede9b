// Free buffers as a lock-free stack of their indices: what was used last, and is still in the
// cache, is used next.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

namespace sumwire::nic {

// Any thread may take and give.
class IndexPool {
  public:
    // Holds 0 to count - 1.
    explicit IndexPool(std::uint32_t count)
        : next_(std::make_unique<std::atomic<std::uint32_t>[]>(count)), head_(count > 0 ? 0 : end) {
        for (std::uint32_t i = 0; i < count; ++i)
            next_[i] = i + 1 < count ? i + 1 : end;
    }

    std::optional<std::uint32_t> take() {
        std::uint64_t head = head_.load(std::memory_order_acquire);
        while (index_of(head) != end) {
            const std::uint32_t next = next_[index_of(head)].load(std::memory_order_relaxed);
            if (head_.compare_exchange_weak(head, successor(head, next), std::memory_order_acq_rel,
                                            std::memory_order_acquire)) {
                return index_of(head);
            }
        }
        return std::nullopt;
    }

    void give(std::uint32_t index) {
        std::uint64_t head = head_.load(std::memory_order_relaxed);
        do {
            next_[index].store(index_of(head), std::memory_order_relaxed);
        } while (!head_.compare_exchange_weak(
            head, successor(head, index), std::memory_order_acq_rel, std::memory_order_relaxed));
    }

  private:
    static constexpr std::uint32_t end = UINT32_MAX;

    static std::uint32_t index_of(std::uint64_t head) { return static_cast<std::uint32_t>(head); }
    // The upper half counts changes, so that a head that left and came back is told apart (ABA).
    static std::uint64_t successor(std::uint64_t head, std::uint32_t index) {
        return (((head >> 32) + 1) << 32) | index;
    }

    std::unique_ptr<std::atomic<std::uint32_t>[]> next_;
    alignas(64) std::atomic<std::uint64_t> head_;
};

}  // namespace sumwire::nic
