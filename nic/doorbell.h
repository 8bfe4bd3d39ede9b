// Lets one thread sleep until others have work for it; costs the others nothing but one atomic
// exchange while it is awake.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace sumwire::nic {

class Doorbell {
  public:
    // Any thread, after the work is visible.
    void ring() {
        if (state_.exchange(awake, std::memory_order_acq_rel) == asleep) wake();
    }

    // The one sleeper. `has_work` is asked once more after the sleep is announced.
    template <class HasWork>
    void wait(std::chrono::microseconds timeout, HasWork has_work) {
        if (has_work() || timeout.count() <= 0) return;
        // Either this exchange comes first and ring() wakes, or ring()'s does and its work is seen.
        state_.exchange(asleep, std::memory_order_acq_rel);
        if (!has_work()) sleep(timeout);
        state_.store(awake, std::memory_order_release);
    }

  private:
    static constexpr std::uint32_t awake = 0;
    static constexpr std::uint32_t asleep = 1;

    void sleep(std::chrono::microseconds timeout);
    void wake();

    alignas(64) std::atomic<std::uint32_t> state_ = awake;
};

}  // namespace sumwire::nic
