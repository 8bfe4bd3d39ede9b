// How the workers and the aggregator of one machine reach each other.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/support/veth_network.h"

namespace sumwire::apps {

enum class Transport {
    inproc,  // threads of one process
    udp,     // kernel sockets on the loopback interface
    memif,   // DPDK, shared memory
    veth     // DPDK, packet sockets in network namespaces
};

// Reads "inproc", "udp", "memif", "veth"; throws std::invalid_argument naming them.
Transport parse_transport(std::string_view text);
std::string_view to_string(Transport transport);

// Port specifications (nic/port_spec.h) of one job between processes.
struct TransportPlan {
    std::string aggregator_port;
    std::string aggregator_address;  // empty: the aggregator says which it has got
    std::vector<std::string> worker_ports;
    std::unique_ptr<VethNetwork> network;  // where there is one
};

// Not for inproc. `sockets` is a private directory; an mtu of 0 is the transport's own. Throws
// LaunchError.
TransportPlan plan_transport(Transport transport, unsigned workers, unsigned mtu,
                             const std::filesystem::path& sockets);

}  // namespace sumwire::apps
