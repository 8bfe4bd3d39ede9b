// Keeps DPDK's interrupt thread and those who use a device apart.
//
// The memif driver handles its peer's coming and going on DPDK's interrupt thread, and unmaps the
// shared memory there while another thread may be reading it, or closing the device. So while there
// are such devices, the interrupt thread spends its time in a callback of the gate's, and leaves it
// only for moments in which nobody is inside the gate.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "nic/time.h"

namespace sumwire::nic {

class InterruptGate {
  public:
    static InterruptGate& instance();

    // Called now and then on the interrupt thread, while nobody is inside.
    using Attend = std::function<void(Time now)>;

    // For as long as a device needs the gate; `attend` may be empty. Throws SetupError.
    void open(std::uint16_t device, Attend attend);
    // From inside the gate.
    void close(std::uint16_t device);
    // The device has found its peer: no more interrupts are expected soon.
    void settle() { hurry_until_.store(Time{}, std::memory_order_relaxed); }

    // Neither waits nor allocates. False: interrupts are being handled, try later.
    bool try_enter() {
        inside_.fetch_add(1, std::memory_order_seq_cst);
        if (!closed_.load(std::memory_order_seq_cst)) return true;
        leave();
        return false;
    }
    void leave() { inside_.fetch_sub(1, std::memory_order_release); }

    InterruptGate(const InterruptGate&) = delete;
    InterruptGate& operator=(const InterruptGate&) = delete;

  private:
    InterruptGate() = default;
    static void on_interrupt_thread(void* gate);
    void hold_interrupts();

    std::atomic<std::uint32_t> inside_{0};
    std::atomic<bool> closed_{false};

    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::uint16_t, Attend> users_;
    bool armed_ = false;
    std::atomic<Time> hurry_until_{Time{}};
};

// Inside the gate while it lives; waits to get in. For set-up and its end.
class InsideGate {
  public:
    explicit InsideGate(bool needed);
    ~InsideGate();
    InsideGate(const InsideGate&) = delete;
    InsideGate& operator=(const InsideGate&) = delete;

  private:
    bool inside_;
};

}  // namespace sumwire::nic
