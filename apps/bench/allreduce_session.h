// Runs the ranks of an allreduce benchmark: as threads of this process, or as processes that run
// this program again.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "apps/bench/allreduce_plan.h"
#include "apps/bench/allreduce_rows.h"
#include "apps/bench/gradient_set.h"
#include "apps/support/transport.h"

namespace sumwire::apps {

struct AllreduceSettings {
    Transport transport = Transport::udp;
    std::string polling = "auto";
    std::size_t payload_bytes = 0;  // 0: as the path allows
};

// Reports every choice of the plan to `rows`. Throws std::runtime_error if a rank fails.
void run_allreduce_session(const GradientSet& set, const AllreducePlan& plan,
                           const AllreduceSettings& settings, AllreduceRows& rows);

// What a rank's process runs: `job` is the file that run_allreduce_session has written, `events`
// the descriptor to report to.
void run_allreduce_process(const std::filesystem::path& job, int events);

}  // namespace sumwire::apps
