// An aggregator inside rank 0's process, for jobs that were given no aggregator's address.
//
// The runtime only declares it: the program or library that is linked in the end defines
// start_embedded_aggregator, so that the runtime does not depend on the aggregator.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "nic/polling.h"

namespace sumwire::runtime {

struct EmbeddedAggregatorConfig {
    std::string port;  // as nic::open_port reads it
    std::uint16_t udp_port = 0;
    nic::Polling polling = nic::Polling::automatic;
    unsigned pollers = 1;
    // How long destruction waits for the other ranks to leave before it stops serving them.
    std::chrono::milliseconds linger{0};
};

class EmbeddedAggregator {
  public:
    // Serves until every rank has left or `linger` is over.
    virtual ~EmbeddedAggregator() = default;
};

// Serves from its own thread when it returns. Throws nic::SetupError with the remedy.
std::unique_ptr<EmbeddedAggregator> start_embedded_aggregator(
    const EmbeddedAggregatorConfig& config);

}  // namespace sumwire::runtime
