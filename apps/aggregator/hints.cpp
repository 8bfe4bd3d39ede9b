#include "apps/aggregator/hints.h"

#include <fmt/format.h>

namespace sumwire::apps {

std::vector<std::string> hints(const aggregator::LoopStatistics& statistics) {
    const aggregator::Statistics& counted = statistics.aggregator;
    std::vector<std::string> found;
    if (statistics.port.rx_malformed > 0) {
        found.push_back(fmt::format(
            "{} frames were dropped because they were not for this port or their checksum was "
            "wrong; nobody finishes checksums on veth and its like: workers on kernel sockets "
            "there need SUMWIRE_PORT='udp;offload=off', or 'ethtool -K DEVICE tx off'",
            statistics.port.rx_malformed));
    }
    if (counted.malformed > 0) {
        found.push_back(fmt::format(
            "{} datagrams were malformed or damaged; run the same version everywhere, and look for "
            "other programs that send to this UDP port",
            counted.malformed));
    }
    if (counted.joins > 0 && counted.jobs_started == 0) {
        found.emplace_back(
            "ranks came, but no job was complete; start every rank, and give all of them the same "
            "job name and world size");
    }
    return found;
}

}  // namespace sumwire::apps
