// An aggregator behind a port, and synthetic workers that load it, each a thread.
#pragma once

#include <cstdint>

#include "apps/bench/aggregator_load.h"
#include "apps/bench/load_network.h"
#include "nic/polling.h"

namespace sumwire::apps {

struct PortResult {
    double packets_per_s = 0;  // contributions in; as many results go out
    double payload_gbit_s = 0;
    double cycles_per_packet =
        0;  // time-stamp counter while the aggregator's thread ran, polls included
    double latency_p50_us = 0;  // from sending a contribution to having its result
    double latency_p99_us = 0;
    double latency_p999_us = 0;
    std::uint64_t retransmissions = 0;
    bool exact = false;
};

// Measures for `seconds` after a short warm-up; `spec` has as many workers as the network. Throws
// what the port, the aggregator or a worker fails with.
PortResult measure_aggregator_port(const LoadNetwork& network, const LoadSpec& spec,
                                   nic::Polling polling, double seconds);

}  // namespace sumwire::apps
