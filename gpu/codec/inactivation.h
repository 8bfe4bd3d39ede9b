// Inactivation: which unknowns to request so that a stalled peeling completes.
//
// While unknowns are unsolved: request the one with the most counters of degree two; among equals,
// the lowest ordinal. Take it as solved, and peel, without values, as far as it goes. Degrees count
// unsolved unknowns. So the requests depend only on which counters hold which unsolved unknowns.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "gpu/codec/ordinal_set.h"
#include "gpu/codec/peeling.h"
#include "gpu/device.h"

namespace sumwire::gpu {

class Inactivation {
  public:
    // Allocates for this size, and later only for a larger problem.
    Inactivation(Device& device, std::uint32_t unknowns, std::uint32_t counters);

    // The requests, ascending; valid until the next call.
    std::span<const std::uint32_t> choose(const Peeling& stalled);

  private:
    void reserve(std::uint32_t unknowns, std::uint32_t counters);
    void build_members();
    void rank_unknowns();
    void take_out(std::uint32_t unknown);
    void peel();
    void move(std::uint32_t unknown, int change);

    Device& device_;
    DeviceBuffer memory_;
    std::uint32_t unknown_capacity_ = 0;
    std::uint32_t counter_capacity_ = 0;

    const Peeling* stalled_ = nullptr;
    std::span<CounterState> states_;
    std::span<std::uint32_t> members_;  // unsolved unknowns, counter by counter
    std::span<std::uint32_t> first_;    // where a counter's members begin
    std::span<std::uint32_t> queue_;
    std::uint32_t queued_ = 0;
    std::span<std::uint8_t> scores_;      // counters of degree two that an unknown has
    std::array<OrdinalSet, 4> by_score_;  // unsolved unknowns
    std::span<std::uint32_t> requests_;
};

}  // namespace sumwire::gpu
