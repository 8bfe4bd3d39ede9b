// The command line of sumwire-run.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/support/sum_choice.h"
#include "apps/support/transport.h"
#include "sumwire/communicator.h"

namespace sumwire::apps {

struct RunOptions {
    std::vector<std::filesystem::path> gradients;  // empty: a program is run
    std::vector<std::string> program;              // with its arguments
    std::optional<unsigned> workers;
    std::optional<unsigned> step;
    Transport transport = Transport::udp;
    std::vector<SumChoice> choices;
    ReduceOp op = ReduceOp::sum;
    unsigned iterations = 1;
    std::string polling = "auto";
    std::size_t payload_bytes = 0;  // 0: as the MTU allows
    unsigned mtu = 0;               // 0: the transport's own
    std::string faults;
    std::optional<std::chrono::milliseconds> deadline;
    std::string aggregator;
    bool embedded = false;
    bool verbose = false;
    std::filesystem::path json_file;         // empty: none
    std::filesystem::path output_directory;  // empty: none
};

// The command line is wrong; the message is one line and names the remedy.
class UsageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Empty after --help or --version, which it has printed. Throws UsageError.
std::optional<RunOptions> parse_command_line(int argc, const char* const* argv);

}  // namespace sumwire::apps
