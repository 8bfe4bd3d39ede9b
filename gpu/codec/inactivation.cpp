#include "gpu/codec/inactivation.h"

#include <algorithm>

#include "gpu/codec/carve.h"

namespace sumwire::gpu {

Inactivation::Inactivation(Device& device, std::uint32_t unknowns, std::uint32_t counters)
    : device_(device) {
    reserve(unknowns, counters);
}

void Inactivation::reserve(std::uint32_t unknowns, std::uint32_t counters) {
    if (unknowns <= unknown_capacity_ && counters <= counter_capacity_) return;
    unknown_capacity_ = std::max(unknowns, unknown_capacity_);
    counter_capacity_ = std::max(counters, counter_capacity_);
    memory_ = {};
    memory_ = device_.allocate(carved_bytes<CounterState>(counter_capacity_) +
                               carved_bytes<std::uint32_t>(std::size_t{3} * unknown_capacity_) +
                               carved_bytes<std::uint32_t>(counter_capacity_ + 1) +
                               carved_bytes<std::uint32_t>(counter_capacity_) +
                               carved_bytes<std::uint8_t>(unknown_capacity_) +
                               4 * OrdinalSet::bytes(unknown_capacity_) +
                               carved_bytes<std::uint32_t>(unknown_capacity_));
}

std::span<const std::uint32_t> Inactivation::choose(const Peeling& stalled) {
    stalled_ = &stalled;
    const std::uint32_t unknowns = stalled.problem().unknowns();
    const auto counters = static_cast<std::uint32_t>(stalled.states().size());
    reserve(unknowns, counters);
    std::span<std::byte> memory = memory_.bytes();
    states_ = carve<CounterState>(memory, counters);
    members_ = carve<std::uint32_t>(memory, std::size_t{3} * unknowns);
    first_ = carve<std::uint32_t>(memory, counters + 1);
    queue_ = carve<std::uint32_t>(memory, counters);
    scores_ = carve<std::uint8_t>(memory, unknowns);
    for (OrdinalSet& set : by_score_)
        set = OrdinalSet(memory, unknowns);
    requests_ = carve<std::uint32_t>(memory, unknowns);

    std::ranges::copy(stalled.states(), states_.begin());
    queued_ = 0;
    build_members();
    rank_unknowns();

    std::size_t requests = 0;
    for (std::size_t score = by_score_.size(); score-- > 0;) {
        if (by_score_[score].empty()) continue;
        const std::uint32_t unknown = by_score_[score].lowest();
        requests_[requests++] = unknown;
        take_out(unknown);
        peel();
        score = by_score_.size();
    }
    std::ranges::sort(requests_.first(requests));
    return requests_.first(requests);
}

void Inactivation::build_members() {
    std::uint32_t next = 0;
    for (std::size_t counter = 0; counter < states_.size(); ++counter) {
        next += states_[counter].degree;
        first_[counter] = next;
    }
    first_.back() = next;
    // Filled from the end, so that each counter's entry ends at its first member.
    for (std::uint32_t i = stalled_->problem().unknowns(); i-- > 0;) {
        if (stalled_->solved(i)) continue;
        for (const std::uint32_t counter : stalled_->problem().counters(i)) {
            members_[--first_[counter]] = i;
        }
    }
}

void Inactivation::rank_unknowns() {
    for (std::uint32_t i = 0; i < stalled_->problem().unknowns(); ++i) {
        if (stalled_->solved(i)) continue;
        std::uint8_t score = 0;
        for (const std::uint32_t counter : stalled_->problem().counters(i)) {
            score += states_[counter].degree == 2 ? 1 : 0;
        }
        scores_[i] = score;
        by_score_[score].insert(i);
    }
}

void Inactivation::peel() {
    while (queued_ != 0) {
        const CounterState& state = states_[queue_[--queued_]];
        if (state.degree == 1) take_out(state.ordinals);
    }
}

void Inactivation::take_out(std::uint32_t unknown) {
    by_score_[scores_[unknown]].erase(unknown);
    for (const std::uint32_t counter : stalled_->problem().counters(unknown)) {
        CounterState& state = states_[counter];
        state.ordinals ^= unknown;
        --state.degree;
        if (state.degree == 1) {
            move(state.ordinals, -1);
            queue_[queued_++] = counter;
        } else if (state.degree == 2) {
            for (std::uint32_t m = first_[counter]; m < first_[counter + 1]; ++m) {
                const std::uint32_t member = members_[m];
                if (by_score_[scores_[member]].contains(member)) move(member, +1);
            }
        }
    }
}

void Inactivation::move(std::uint32_t unknown, int change) {
    by_score_[scores_[unknown]].erase(unknown);
    scores_[unknown] = static_cast<std::uint8_t>(scores_[unknown] + change);
    by_score_[scores_[unknown]].insert(unknown);
}

}  // namespace sumwire::gpu
