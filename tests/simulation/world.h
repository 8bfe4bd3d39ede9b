// Runs one schedule: the ranks and the aggregator over a virtual network, in virtual time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/rank.h"
#include "tests/simulation/schedule.h"

namespace sumwire::simulation {

struct RankReport {
    std::string job;
    std::uint16_t rank = 0;
    Outcome outcome{};
    std::string error;
    std::uint64_t bytes_sent = 0;
};

struct Report {
    std::vector<RankReport> ranks;
    Time lasted{};

    std::size_t count(Outcome outcome) const;
    // Somebody waited beyond the deadline.
    bool hangs() const { return count(Outcome::running) != 0; }
};

Report run(const Schedule& schedule);

}  // namespace sumwire::simulation
