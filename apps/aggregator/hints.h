// What an aggregator's counters suggest to whoever reads them at its end.
#pragma once

#include <string>
#include <vector>

#include "switch_emu/aggregator_loop.h"

namespace sumwire::apps {

// Sentences with a remedy each; often none.
std::vector<std::string> hints(const aggregator::LoopStatistics& statistics);

}  // namespace sumwire::apps
