// One rank of an allreduce benchmark.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "apps/bench/allreduce_plan.h"
#include "apps/bench/expected_sums.h"

namespace sumwire::apps {

struct RankObserver {
    std::function<void(std::string_view)> progress;                     // called on rank 0 only
    std::function<void(std::size_t choice, const RankReport&)> report;  // after each choice
};

// Runs the plan on this rank's gradient; `expected` has one entry for each choice. Throws what the
// communicator throws.
void run_allreduce_rank(const AllreducePlan& plan, const Options& options,
                        std::span<const float> gradient, std::span<const ExpectedSums> expected,
                        const RankObserver& observer);

}  // namespace sumwire::apps
