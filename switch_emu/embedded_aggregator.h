// An aggregator on a thread of its own, inside a process that does other things as well.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>

#include "nic/port.h"
#include "switch_emu/aggregator_loop.h"

namespace sumwire::aggregator {

class EmbeddedAggregator {
  public:
    // Starts at once, in the default floating-point environment and deaf to signals, whatever the
    // caller's thread has. Throws as AggregatorLoop, std::system_error if there is no thread to be
    // had.
    EmbeddedAggregator(std::unique_ptr<nic::PacketPort> port,
                       const AggregatorLoop::Options& options);
    // Stops at once.
    ~EmbeddedAggregator();

    // Lets ranks that still miss a result get it: returns when every job has ended or after
    // `patience`, at once if the aggregator has failed, and stops. For one call, from the thread
    // that destroys the object.
    void finish(std::chrono::milliseconds patience);

    // What the thread ended with ahead of time: nobody is served any more. Null while all is well.
    // Thread-safe.
    std::exception_ptr failure() const;

    const nic::PortInfo& port() const { return port_->info(); }
    // Throws what the thread has ended with. Thread-safe.
    LoopStatistics statistics();

  private:
    void run(const std::stop_token& stop);

    std::unique_ptr<nic::PacketPort> port_;
    AggregatorLoop loop_;
    std::exception_ptr failure_;  // written once, before failed_
    std::atomic<bool> failed_ = false;
    std::jthread thread_;
};

}  // namespace sumwire::aggregator
