// A whole aggregator process behind a port, and synthetic workers that load it, in one process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "apps/bench/aggregator_load.h"
#include "nic/polling.h"

namespace sumwire::apps {

enum class LoadPort : std::uint8_t { inproc, udp, memif };

// Reads "inproc", "udp", "memif"; throws std::invalid_argument naming them.
LoadPort parse_load_port(std::string_view text);
std::string_view to_string(LoadPort port);
// What stands in for a network, for banners.
std::string_view describe(LoadPort port);

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

// Measures for `seconds` after a short warm-up. Throws what the port, the aggregator or a worker
// fails with.
PortResult measure_aggregator_port(LoadPort port, const LoadSpec& spec, nic::Polling polling,
                                   double seconds);

}  // namespace sumwire::apps
