#include "switch_emu/embedded_aggregator.h"

#include <utility>

namespace sumwire::aggregator {

EmbeddedAggregator::EmbeddedAggregator(std::unique_ptr<nic::PacketPort> port,
                                       const AggregatorLoop::Options& options)
    : port_(std::move(port)),
      loop_(*port_, options),
      thread_([this](const std::stop_token& stop) { loop_.run(stop); }) {}

EmbeddedAggregator::~EmbeddedAggregator() = default;

void EmbeddedAggregator::finish(std::chrono::milliseconds patience) {
    loop_.drain(patience);
    thread_.request_stop();
    thread_.join();
}

}  // namespace sumwire::aggregator
