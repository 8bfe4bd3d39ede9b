// An aggregator inside rank 0's process, for jobs that were given no aggregator's address.
//
// The runtime only declares it: the program or library that is linked in the end defines
// share_embedded_aggregator, so that the runtime does not depend on the aggregator.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
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
    // Serves until every rank of every job has left or `linger` is over.
    virtual ~EmbeddedAggregator() = default;

    // What ended its thread ahead of time; null while it serves. Cheap. Thread-safe.
    virtual std::exception_ptr failure() const = 0;
};

// The aggregator of this process on that port and UDP port, which serves from its own thread:
// the one that runs already, for its jobs are told apart by their names, or a new one. Of several
// configurations the first one's polling and the longest linger hold. While the last owner's
// destruction lingers, waits for it. Throws nic::SetupError with the remedy. Thread-safe.
std::shared_ptr<EmbeddedAggregator> share_embedded_aggregator(
    const EmbeddedAggregatorConfig& config);

}  // namespace sumwire::runtime
