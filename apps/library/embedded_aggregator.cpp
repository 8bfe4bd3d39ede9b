// Gives the runtime its embedded aggregator (runtime/communicator/embedded_aggregator.h).
#include "runtime/communicator/embedded_aggregator.h"

#include <utility>

#include "nic/port_spec.h"
#include "switch_emu/embedded_aggregator.h"

namespace sumwire::runtime {

namespace {

class InProcessAggregator : public EmbeddedAggregator {
  public:
    InProcessAggregator(std::unique_ptr<nic::PacketPort> port,
                        const aggregator::AggregatorLoop::Options& options,
                        std::chrono::milliseconds linger)
        : aggregator_(std::move(port), options), linger_(linger) {}
    ~InProcessAggregator() override { aggregator_.finish(linger_); }

  private:
    aggregator::EmbeddedAggregator aggregator_;
    std::chrono::milliseconds linger_;
};

}  // namespace

std::unique_ptr<EmbeddedAggregator> start_embedded_aggregator(
    const EmbeddedAggregatorConfig& config) {
    auto port = nic::open_port(config.port, {.udp_port = config.udp_port, .peer = {}});
    aggregator::AggregatorLoop::Options options;
    options.polling = config.polling;
    options.pollers = config.pollers;
    return std::make_unique<InProcessAggregator>(std::move(port), options, config.linger);
}

}  // namespace sumwire::runtime
