// A rank as a process: this program, run again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/run/rank_task.h"
#include "apps/support/descriptor.h"
#include "apps/support/launcher.h"

namespace sumwire::apps {

// The first argument of a rank's process.
inline constexpr const char* rank_command = "rank-of-sumwire-run";

// The parent's end: how to start the process, and what it has left behind.
class RankProcess {
  public:
    // Throws LaunchError.
    RankProcess(const RankTask& task, const std::filesystem::path& gradient, std::size_t elements);

    WorkerProgram program() const;
    // Once the process has ended well.
    RankReport report() const;
    std::vector<float> result() const;

  private:
    std::string job_;
    std::size_t elements_;
    Descriptor result_;  // memory that both share
    Descriptor report_;
};

// The process's own main program, after rank_command. Throws what run_rank throws.
void run_rank_process(const std::string& job);

}  // namespace sumwire::apps
