// One rank of a session.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "apps/support/rank_task.h"

namespace sumwire::apps {

struct RankObserver {
    std::function<void(std::string_view)> progress;                     // called on rank 0 only
    std::function<void(std::size_t choice, const RankReport&)> report;  // after each choice
};

// Carries the task out. `options` say where the rank stands; the task fills in the rest. `expected`
// has one entry for each choice. Throws what the communicator throws, and InputError if the result
// cannot be written.
void run_rank(const RankTask& task, const Options& options, std::span<const float> gradient,
              std::span<const ExpectedSums> expected, const RankObserver& observer);

}  // namespace sumwire::apps
