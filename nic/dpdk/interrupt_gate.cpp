#include "nic/dpdk/interrupt_gate.h"

#include <rte_alarm.h>

#include <chrono>
#include <thread>
#include <utility>

#include "nic/port.h"

namespace sumwire::nic {
namespace {

using namespace std::chrono_literals;

// A peer's coming takes a handful of interrupts.
constexpr Time usual_pause = 20ms;
constexpr Time hurried_pause = 500us;
constexpr Time hurry = 2s;

// An alarm that is due before its predecessor's callback has returned would follow without a look
// at other interrupts.
constexpr std::uint64_t next_alarm_us = 20;

}  // namespace

// Never destroyed: DPDK's threads outlive main().
InterruptGate& InterruptGate::instance() {
    static auto* const gate = new InterruptGate;
    return *gate;
}

void InterruptGate::open(std::uint16_t device, Attend attend) {
    const std::scoped_lock lock(mutex_);
    if (!armed_) {
        if (rte_eal_alarm_set(next_alarm_us, on_interrupt_thread, this) != 0) {
            throw SetupError(
                "DPDK has no timer for its interrupt thread: raise the limit of open "
                "files (ulimit -n)");
        }
        armed_ = true;
        closed_ = true;  // until the interrupt thread is held
    }
    users_[device] = std::move(attend);
    hurry_until_ = steady_now() + hurry;
    changed_.notify_all();
}

void InterruptGate::close(std::uint16_t device) {
    const std::scoped_lock lock(mutex_);
    users_.erase(device);
    changed_.notify_all();
}

void InterruptGate::on_interrupt_thread(void* gate) {
    static_cast<InterruptGate*>(gate)->hold_interrupts();
}

void InterruptGate::hold_interrupts() {
    std::unique_lock lock(mutex_);
    closed_.store(false, std::memory_order_seq_cst);
    if (!users_.empty()) {
        const bool hurried = steady_now() < hurry_until_.load(std::memory_order_relaxed);
        changed_.wait_for(lock, hurried ? hurried_pause : usual_pause);
    }
    closed_.store(true, std::memory_order_seq_cst);
    lock.unlock();
    while (inside_.load(std::memory_order_seq_cst) != 0) {
        std::this_thread::yield();
    }
    lock.lock();
    for (const auto& [device, attend] : users_) {
        if (attend) attend(steady_now());
    }
    // Interrupts that came meanwhile are handled before or right after the next call.
    armed_ = !users_.empty() && rte_eal_alarm_set(next_alarm_us, on_interrupt_thread, this) == 0;
    if (!armed_) closed_.store(false, std::memory_order_seq_cst);
}

InsideGate::InsideGate(bool needed) : inside_(needed) {
    while (inside_ && !InterruptGate::instance().try_enter()) {
        std::this_thread::yield();
    }
}

InsideGate::~InsideGate() {
    if (inside_) InterruptGate::instance().leave();
}

}  // namespace sumwire::nic
