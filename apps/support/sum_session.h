// Runs the ranks of a task: as threads of this process, or as processes that run this program
// again.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/support/launcher.h"
#include "apps/support/rank_task.h"
#include "apps/support/transport.h"
#include "apps/support/verdict.h"

namespace sumwire::apps {

struct SessionSettings {
    Transport transport = Transport::udp;
    std::string aggregator = {};  // as in LaunchOptions, likewise the others
    bool embedded = false;
    std::string faults = {};
    unsigned mtu = 0;
    bool show_aggregator = false;
};

// Called from one thread at a time, of which there may be several.
struct SessionObserver {
    std::function<void(std::string_view)> progress;
    std::function<void(std::size_t rank, std::size_t choice, const RankReport&)> report;
};

// `gradients`: one for each rank, of one length. `expected`: one for each choice. Of processes, the
// main program must call run_rank_process if is_rank_process says so. Throws what launch throws.
LaunchResult run_session(std::span<const std::vector<float>> gradients, const RankTask& task,
                         std::span<const ExpectedSums> expected, const SessionSettings& settings,
                         const SessionObserver& observer);

// What ways of polling and payload mean for an aggregator that is started along with the workers.
std::vector<std::string> aggregator_arguments(const std::string& polling, std::size_t workers,
                                              std::size_t payload_bytes);

}  // namespace sumwire::apps
