#include "apps/bench/load_network.h"

#include <fmt/core.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "nic/port_spec.h"

namespace sumwire::apps {
namespace {

constexpr unsigned aggregator_host = 1;
constexpr unsigned worker_host = 2;

// Each memif is a network of its own.
std::string link_address(unsigned rank, unsigned host) {
    return fmt::format("10.79.{}.{}", rank, host);
}

struct PortSpecs {
    std::string aggregator;
    std::vector<std::string> workers;
};

PortSpecs port_specs(LoadPort port, unsigned workers, const std::filesystem::path& sockets) {
    PortSpecs specs;
    for (unsigned rank = 0; rank < workers; ++rank) {
        switch (port) {
            case LoadPort::inproc:
                specs.aggregator = "inproc:bench-aggregator";
                specs.workers.push_back(specs.aggregator);
                break;
            case LoadPort::udp:
                specs.aggregator = "udp:bind=127.0.0.1";
                specs.workers.push_back(specs.aggregator);
                break;
            case LoadPort::memif: {
                // A socket for each link: a client that starts in the server's own process must
                // find room in the queue of connections, as nobody takes them out meanwhile.
                const auto socket = sockets / fmt::format("link{}.sock", rank);
                const auto link = [&](std::string_view role, unsigned host) {
                    return fmt::format(
                        "dpdk:net_memif_{}{},role={},socket={},socket-abstract=no;ip={};port={};"
                        "mtu=9000",
                        role, rank, role, socket.string(), link_address(rank, host),
                        nic::default_udp_port);
                };
                specs.aggregator += (rank > 0 ? " + " : "") + link("server", aggregator_host);
                specs.workers.push_back(link("client", worker_host));
                break;
            }
        }
    }
    return specs;
}

}  // namespace

LoadNetwork::LoadNetwork(LoadPort port, unsigned workers) : kind_(port) {
    const auto specs = port_specs(port, workers, directory_.path());
    aggregator_ = nic::open_port(specs.aggregator, {});
    for (unsigned rank = 0; rank < workers; ++rank)
        workers_.push_back(
            nic::open_port(specs.workers[rank], {.udp_port = 0, .peer = aggregator_address(rank)}));
}

nic::Endpoint LoadNetwork::aggregator_address(unsigned rank) const {
    if (kind_ == LoadPort::memif) return nic::parse_endpoint(link_address(rank, aggregator_host));
    return aggregator_->info().local;
}

LoadPort parse_load_port(std::string_view text) {
    for (const auto port : {LoadPort::inproc, LoadPort::udp, LoadPort::memif})
        if (text == to_string(port)) return port;
    throw std::invalid_argument(fmt::format("--port {}: unknown; use inproc, udp or memif", text));
}

std::string_view to_string(LoadPort port) {
    switch (port) {
        case LoadPort::inproc:
            return "inproc";
        case LoadPort::udp:
            return "udp";
        case LoadPort::memif:
            return "memif";
    }
    return "";
}

std::string_view describe(LoadPort port) {
    switch (port) {
        case LoadPort::inproc:
            return "memory of one process, NO NETWORK";
        case LoadPort::udp:
            return "kernel UDP sockets on loopback, NO NETWORK";
        case LoadPort::memif:
            return "DPDK memif, shared memory, NO NETWORK";
    }
    return "";
}

}  // namespace sumwire::apps
