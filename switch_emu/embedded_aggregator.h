// An aggregator on a thread of its own, inside a process that does other things as well.
#pragma once

#include <chrono>
#include <memory>
#include <thread>

#include "nic/port.h"
#include "switch_emu/aggregator_loop.h"

namespace sumwire::aggregator {

class EmbeddedAggregator {
  public:
    // Starts at once. Throws as AggregatorLoop, std::system_error if there is no thread to be had.
    EmbeddedAggregator(std::unique_ptr<nic::PacketPort> port,
                       const AggregatorLoop::Options& options);
    // Stops at once.
    ~EmbeddedAggregator();

    // Lets ranks that still miss a result get it: returns when every job has ended or after
    // `patience`, and stops. For one call, from the thread that destroys the object.
    void finish(std::chrono::milliseconds patience);

    const nic::PortInfo& port() const { return port_->info(); }
    // Thread-safe.
    LoopStatistics statistics() { return loop_.statistics(); }

  private:
    std::unique_ptr<nic::PacketPort> port_;
    AggregatorLoop loop_;
    std::jthread thread_;
};

}  // namespace sumwire::aggregator
