#include "nic/polling.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sumwire::nic {
namespace {

// In empty polls.
constexpr std::uint32_t polls_until_yield = 16;
constexpr std::uint32_t polls_until_nap = 400;
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

IdleStrategy::IdleStrategy(Polling polling, unsigned pollers) : polling_(polling) {
    if (polling != Polling::automatic) return;
    // Somebody else needs a core as well: the application, or the kernel's network stack.
    polling_ = pollers < available_cores() ? Polling::spin : Polling::yield;
}

void IdleStrategy::idle(PacketPort& port, std::chrono::microseconds limit) {
    if (empty_polls_ < UINT32_MAX) ++empty_polls_;
    if (polling_ == Polling::spin || empty_polls_ <= polls_until_yield) {
        pause();
    } else if (polling_ == Polling::sleep) {
        port.wait(limit);
    } else if (empty_polls_ <= polls_until_nap) {
        sched_yield();
    } else {
        port.wait(std::min(limit, nap(empty_polls_ - polls_until_nap - 1)));
    }
}

}  // namespace sumwire::nic
