// The aggregator's state machine alone: packets in memory, no port, no network.
#pragma once

#include "apps/bench/aggregator_load.h"

namespace sumwire::apps {

struct CoreResult {
    std::uint64_t packets = 0;
    double packets_per_s = 0;
    double payload_gbit_s = 0;
    double cycles_per_packet = 0;  // of the time-stamp counter
    double plain_gbit_s = 0;       // the same combination of the same bytes in a plain loop
    bool exact = false;            // every result of every sweep
};

// Sweeps all slots again and again for about `seconds`, in turn through the aggregator and through
// the plain loop; medians over the sweeps.
CoreResult measure_aggregator_core(const LoadSpec& spec, double seconds);

}  // namespace sumwire::apps
