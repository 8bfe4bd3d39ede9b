// Runs an aggregator and the workers of one job as processes on this machine.
//
// Each worker finds RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, SUMWIRE_AGGREGATOR,
// SUMWIRE_PORT and SUMWIRE_JOB in its environment, so that a Communicator with default options
// joins the job.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "apps/support/transport.h"

namespace sumwire::apps {

struct WorkerProgram {
    std::vector<std::string> arguments;  // the first is the program, looked up in PATH
    std::vector<int> inherited;          // descriptors that stay open, under the same number
};

struct LaunchOptions {
    std::vector<WorkerProgram> workers;  // one for each rank
    Transport transport = Transport::udp;
    // "host:port" of an aggregator that runs already; empty: one is started. Transport::udp only.
    std::string aggregator;
    // Rank 0 embeds the aggregator. Transport::udp only.
    bool embedded = false;
    std::vector<std::string> aggregator_arguments;  // further ones, for the one that is started
    std::string job;                                // empty: a name of its own
    std::string faults;            // of the workers' ports, as fault_options.h reads it
    unsigned mtu = 0;              // 0: the transport's own
    bool prefix_output = true;     // "[rank 1] " before each line
    bool show_aggregator = false;  // its output, also if it does not fail
    // What the other workers get, after one has failed, to fail by themselves.
    std::chrono::milliseconds grace{20'000};
};

struct LaunchResult {
    // "rank 1 was killed by SIGKILL (Killed)", in the order noticed.
    std::vector<std::string> failures;
    int interrupted_by = 0;  // SIGINT, SIGTERM or SIGHUP, which has ended the run

    bool ok() const { return failures.empty() && interrupted_by == 0; }
};

// Returns when every process has ended. SIGINT, SIGTERM and SIGHUP are blocked in this thread
// meanwhile and end the run; call it from the main thread, before others are started or with these
// signals blocked there. Throws LaunchError if the run cannot be set up.
LaunchResult launch(const LaunchOptions& options);

}  // namespace sumwire::apps
