// A communicator's options after defaults, environment and checks.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "nic/endpoint.h"
#include "nic/polling.h"
#include "runtime/communicator/embedded_aggregator.h"
#include "sumwire/communicator.h"

namespace sumwire::runtime {

struct ResolvedOptions {
    Options options;  // rank, world_size, job and port filled in
    nic::Endpoint aggregator;
    std::optional<EmbeddedAggregatorConfig> embed;  // rank 0 without an aggregator's address
    nic::Polling polling = nic::Polling::automatic;
    unsigned pollers = 1;  // polling threads that may share this machine
};

// Throws SetupError that names the option or variable and the remedy. `get` is getenv or a test's.
ResolvedOptions resolve(const Options& options, const std::function<const char*(const char*)>& get);

}  // namespace sumwire::runtime
