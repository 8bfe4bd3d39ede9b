#include "gpu/codec/peeling.h"

#include <algorithm>

#include "gpu/codec/carve.h"

namespace sumwire::gpu {

Peeling::Peeling(Device& device, std::uint32_t unknowns, std::uint32_t counters) : device_(device) {
    reserve(unknowns, counters);
}

void Peeling::reserve(std::uint32_t unknowns, std::uint32_t counters) {
    if (unknowns <= unknown_capacity_ && counters <= counter_capacity_) return;
    unknown_capacity_ = std::max(unknowns, unknown_capacity_);
    counter_capacity_ = std::max(counters, counter_capacity_);
    memory_ = {};
    memory_ = device_.allocate(carved_bytes<CounterState>(counter_capacity_) +
                               carved_bytes<std::uint32_t>(counter_capacity_) +
                               carved_bytes<std::uint32_t>(unknown_capacity_ / 32 + 1));
}

void Peeling::begin(const PeelingProblem& problem) {
    problem_ = problem;
    const std::uint32_t counters = problem.shape.counters();
    reserve(problem.unknowns(), counters);
    std::span<std::byte> memory = memory_.bytes();
    states_ = carve<CounterState>(memory, counters);
    queue_ = carve<std::uint32_t>(memory, counters);
    solved_ = carve<std::uint32_t>(memory, problem.unknowns() / 32 + 1);

    std::ranges::fill(states_, CounterState{});
    std::ranges::fill(solved_, 0);
    left_ = problem.unknowns();
    queued_ = 0;
    for (std::uint32_t i = 0; i < left_; ++i) {
        for (const std::uint32_t counter : problem.counters(i)) {
            ++states_[counter].degree;
            states_[counter].ordinals ^= i;
        }
    }
    for (std::uint32_t counter = 0; counter < counters; ++counter) {
        queue_[queued_] = counter;
        queued_ += states_[counter].degree == 1 ? 1 : 0;
    }
}

std::uint32_t Peeling::peel() {
    while (queued_ != 0) {
        const std::uint32_t counter = queue_[--queued_];
        if (states_[counter].degree != 1) continue;
        solve(states_[counter].ordinals, problem_.sketch[counter]);
    }
    return left_;
}

void Peeling::supply(std::uint32_t unknown, std::uint32_t value) {
    solve(unknown, value);
}

void Peeling::solve(std::uint32_t unknown, std::uint32_t value) {
    problem_.solutions[unknown] = value;
    solved_[unknown / 32] |= std::uint32_t{1} << unknown % 32;
    --left_;
    for (const std::uint32_t counter : problem_.counters(unknown)) {
        problem_.sketch[counter] -= value;
        CounterState& state = states_[counter];
        state.ordinals ^= unknown;
        if (--state.degree == 1) queue_[queued_++] = counter;
    }
}

bool Peeling::consistent() const {
    std::uint32_t rest = 0;
    for (const std::uint32_t counter : problem_.sketch)
        rest |= counter;
    return rest == 0;
}

}  // namespace sumwire::gpu
