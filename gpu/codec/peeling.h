// Peeling: a counter of degree one, that is with one unsolved unknown, holds that unknown's value;
// subtracted from the unknown's other counters it lowers their degrees, and so on.
//
// Which counters hold which unknowns follows from the keys alone, so where it stalls depends on
// them alone, and the order of steps changes nothing.
#pragma once

#include <cstdint>
#include <span>

#include "gpu/codec/count_sketch.h"
#include "gpu/device.h"

namespace sumwire::gpu {

// The unsolved unknowns of a counter.
struct CounterState {
    std::uint32_t degree;
    std::uint32_t ordinals;  // xor of them
};

struct PeelingProblem {
    SketchShape shape;
    Keys keys;
    std::span<std::uint32_t> sketch;     // combined over all ranks; consumed
    std::span<std::uint32_t> solutions;  // one for each unknown

    std::uint32_t unknowns() const { return static_cast<std::uint32_t>(solutions.size()); }
    CounterTriple counters(std::uint32_t unknown) const {
        return counters_of(shape, keys[unknown]);
    }
};

class Peeling {
  public:
    // Allocates for this size, and later only for a larger problem.
    Peeling(Device& device, std::uint32_t unknowns, std::uint32_t counters);

    void begin(const PeelingProblem& problem);
    // Solves what can be solved; how many are left.
    std::uint32_t peel();
    // An unsolved unknown's value, from elsewhere.
    void supply(std::uint32_t unknown, std::uint32_t value);
    // Whether the solutions explain every counter. Once none is left.
    bool consistent() const;

    const PeelingProblem& problem() const { return problem_; }
    std::span<const CounterState> states() const { return states_; }
    bool solved(std::uint32_t unknown) const {
        return (solved_[unknown / 32] >> unknown % 32 & 1) != 0;
    }

  private:
    void reserve(std::uint32_t unknowns, std::uint32_t counters);
    void solve(std::uint32_t unknown, std::uint32_t value);

    Device& device_;
    DeviceBuffer memory_;
    std::uint32_t unknown_capacity_ = 0;
    std::uint32_t counter_capacity_ = 0;

    PeelingProblem problem_;
    std::span<CounterState> states_;
    std::span<std::uint32_t> queue_;  // counters that had degree one when they entered
    std::span<std::uint32_t> solved_;
    std::uint32_t queued_ = 0;
    std::uint32_t left_ = 0;
};

}  // namespace sumwire::gpu
