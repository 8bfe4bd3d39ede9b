// The ports of an aggregator and of the synthetic workers that load it, all in this process.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "apps/support/temporary_directory.h"
#include "nic/endpoint.h"
#include "nic/port.h"

namespace sumwire::apps {

enum class LoadPort : std::uint8_t { inproc, udp, memif };

// Reads "inproc", "udp", "memif"; throws std::invalid_argument naming them.
LoadPort parse_load_port(std::string_view text);
std::string_view to_string(LoadPort port);
// What stands in for a network, for banners.
std::string_view describe(LoadPort port);

class LoadNetwork {
  public:
    // Throws nic::SetupError.
    LoadNetwork(LoadPort port, unsigned workers);

    nic::PacketPort& aggregator() const { return *aggregator_; }
    nic::PacketPort& worker(unsigned rank) const { return *workers_[rank]; }
    // Where a worker reaches the aggregator.
    nic::Endpoint aggregator_address(unsigned rank) const;

  private:
    LoadPort kind_;
    TemporaryDirectory directory_;
    std::unique_ptr<nic::PacketPort> aggregator_;
    std::vector<std::unique_ptr<nic::PacketPort>> workers_;
};

}  // namespace sumwire::apps
