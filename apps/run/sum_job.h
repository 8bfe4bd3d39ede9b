// One sum over all ranks: starts them, waits for them, collects what they have.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "apps/run/command_line.h"
#include "apps/run/rank_task.h"
#include "apps/support/gradient_files.h"
#include "apps/support/launcher.h"

namespace sumwire::apps {

struct JobOutcome {
    LaunchResult status;
    // Of each rank; only if the status is ok.
    std::vector<RankReport> reports;
    std::vector<std::vector<float>> results;
};

// `gradients` are what the files hold. Throws LaunchError, and what the ranks' set-up throws.
JobOutcome run_job(const RunOptions& options, const SumChoice& choice, const GradientFiles& files,
                   std::span<const std::vector<float>> gradients);

// What --polling, --payload and the number of workers mean for an aggregator that is started.
std::vector<std::string> aggregator_arguments(const RunOptions& options, std::size_t workers);

}  // namespace sumwire::apps
