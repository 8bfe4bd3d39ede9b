// What sumwire-aggregator says: log lines on standard error, statistics at the end.
#pragma once

#include <deque>
#include <string>

#include "apps/aggregator/options.h"
#include "nic/port.h"
#include "switch_emu/aggregator_loop.h"
#include "switch_emu/statistics.h"

namespace sumwire::apps {

class Report {
  public:
    // Sends spdlog to standard error.
    Report();

    void banner(const nic::PortInfo& port, const aggregator::Limits& limits) const;
    // Logs the event and remembers the last jobs that ended.
    void on_event(const aggregator::JobEvent& event);
    // With hints at what the counters suggest.
    void table(const aggregator::LoopStatistics& statistics) const;
    // Throws std::runtime_error if the file cannot be written.
    void write_json(const std::string& file, const nic::PortInfo& port,
                    const aggregator::LoopStatistics& statistics) const;

  private:
    std::deque<aggregator::JobEvent> ended_;
};

}  // namespace sumwire::apps
