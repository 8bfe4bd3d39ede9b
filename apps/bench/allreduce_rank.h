// One rank of an allreduce benchmark.
#pragma once

#include <span>
#include <vector>

#include "apps/bench/allreduce_plan.h"
#include "apps/bench/expected_sums.h"

namespace sumwire::apps {

// Runs the plan on this rank's gradient; `expected` has one entry for each choice. Returns one report
// for each choice. Throws what the communicator throws.
std::vector<RankReport> run_allreduce_rank(const AllreducePlan& plan, const Options& options,
                                           std::span<const float> gradient,
                                           std::span<const ExpectedSums> expected);

}  // namespace sumwire::apps
