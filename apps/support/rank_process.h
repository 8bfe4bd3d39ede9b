// A rank of a session as a process: this program, run again.
#pragma once

#include <span>
#include <vector>

#include "apps/support/descriptor.h"
#include "apps/support/launcher.h"
#include "apps/support/rank_task.h"
#include "apps/support/verdict.h"

namespace sumwire::apps {

// What the processes of a session need, in memory that they inherit.
class RankProcesses {
  public:
    // `events` is an EventChannel's sender, for {"progress": text} and {"rank", "choice",
    // "report"}; before a report whose list of times is long, {"rank", "choice", "seconds"} with
    // parts of it. Throws LaunchError.
    RankProcesses(const RankTask& task, std::span<const std::vector<float>> gradients,
                  std::span<const ExpectedSums> expected, int events);

    // One for each rank; valid as long as this object.
    std::vector<WorkerProgram> programs() const;

  private:
    int share_all(std::span<const std::byte> bytes);

    std::size_t ranks_;
    std::vector<Descriptor> memory_;
    std::vector<int> inherited_;
    int job_ = -1;
};

// Whether this process is such a rank.
bool is_rank_process(std::span<char* const> arguments);

// Its main program: the exit status. Failures go to standard error.
int run_rank_process(std::span<char* const> arguments);

}  // namespace sumwire::apps
