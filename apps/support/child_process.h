// A program that runs as long as this object lives, at most.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "apps/support/descriptor.h"

namespace sumwire::apps {

struct ChildSpec {
    std::vector<std::string> arguments;    // the first is the program, looked up in PATH
    std::vector<std::string> environment;  // NAME=VALUE, on top of this process's own
    std::vector<int> inherited;            // descriptors that stay open, under the same number
    int network = -1;                      // network namespace to run in
};

// How a child ended.
struct ChildExit {
    int status = 0;  // exit status, if signal is 0
    int signal = 0;

    bool ok() const { return status == 0 && signal == 0; }
};

// "exited with status 1", "was killed by SIGKILL (Killed)"
std::string to_string(const ChildExit& exit);

// Standard input is empty, output goes into two pipes. The child leads a process group of its own
// and is killed when the thread that started it ends.
class ChildProcess {
  public:
    // Throws LaunchError if the program cannot be started.
    explicit ChildProcess(const ChildSpec& spec);
    // Kills the group if the child still runs.
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    // Readable once the child has ended.
    int ended() const { return ended_.get(); }
    // Non-blocking.
    int standard_output() const { return output_.get(); }
    int standard_error() const { return error_.get(); }

    // To the whole group.
    void send(int signal) const;
    // Empty while it runs.
    std::optional<ChildExit> poll();

  private:
    pid_t pid_ = -1;
    Descriptor ended_;
    Descriptor output_;
    Descriptor error_;
    std::optional<ChildExit> exit_;
};

}  // namespace sumwire::apps
