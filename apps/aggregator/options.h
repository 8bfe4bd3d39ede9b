// The command line of sumwire-aggregator.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "nic/polling.h"
#include "switch_emu/limits.h"

namespace sumwire::apps {

struct AggregatorOptions {
    std::string port;  // as nic/port_spec.h reads it
    std::uint16_t udp_port = 0;
    aggregator::Limits limits;
    nic::Polling polling = nic::Polling::automatic;
    unsigned pollers = 0;
    std::string json_file;   // empty: none
    std::string ready_file;  // empty: none
    bool exit_when_idle = false;
    std::vector<std::string> eal_arguments;
};

// The command line is wrong; the message is one line and names the remedy.
class UsageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Empty after --help or --version, which it has printed. Throws UsageError.
std::optional<AggregatorOptions> parse_aggregator_options(int argc, const char* const* argv);

}  // namespace sumwire::apps
