#include "nic/polling.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sumwire::nic {
namespace {

// In empty polls.
constexpr std::uint32_t few_pauses = 16;
constexpr std::uint32_t pauses_on_own_core = 20'000;
constexpr std::uint32_t yields_until_nap = 400;
constexpr std::chrono::microseconds first_nap{50};
constexpr std::uint32_t naps_per_doubling = 4;
constexpr std::uint32_t most_doublings = 20;

unsigned available_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
    return std::max(1U, std::thread::hardware_concurrency());
}

void pause() {
#if defined(__x86_64__)
    _mm_pause();
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

std::chrono::microseconds nap(std::uint32_t naps_before) {
    return first_nap * (1U << std::min(naps_before / naps_per_doubling, most_doublings));
}

}  // namespace

Polling parse_polling(std::string_view text) {
    if (text == "auto") return Polling::automatic;
    if (text == "spin") return Polling::spin;
    if (text == "yield") return Polling::yield;
    if (text == "sleep") return Polling::sleep;
    throw std::invalid_argument(
        fmt::format("\"{}\" is no way of polling; write auto, spin, yield or sleep", text));
}

IdleStrategy::IdleStrategy(Polling polling, unsigned pollers)
    : polling_(polling), pauses_(few_pauses) {
    if (polling != Polling::automatic) return;
    polling_ = Polling::yield;
    // One core more than pollers: for the application, or the kernel's network stack.
    if (pollers < available_cores()) pauses_ = pauses_on_own_core;
}

void IdleStrategy::idle(PacketPort& port, std::chrono::microseconds limit) {
    if (empty_polls_ < UINT32_MAX) ++empty_polls_;
    if (polling_ == Polling::spin || empty_polls_ <= pauses_) {
        pause();
    } else if (polling_ == Polling::sleep) {
        port.wait(limit);
    } else if (empty_polls_ <= pauses_ + yields_until_nap) {
        sched_yield();
    } else {
        port.wait(std::min(limit, nap(empty_polls_ - pauses_ - yields_until_nap - 1)));
    }
}

}  // namespace sumwire::nic
