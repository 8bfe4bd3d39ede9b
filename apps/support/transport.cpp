#include "apps/support/transport.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <utility>

#include "apps/support/launch_error.h"

namespace sumwire::apps {
namespace {

constexpr std::array<std::pair<Transport, std::string_view>, 4> names{
    {{Transport::inproc, "inproc"},
     {Transport::udp, "udp"},
     {Transport::memif, "memif"},
     {Transport::veth, "veth"}}};

constexpr unsigned ethernet_mtu = 1500;
// Shared memory has no cable to please.
constexpr unsigned memory_mtu = 9000;
// Hosts of one /24 network, less the aggregator.
constexpr unsigned most_hosts = 250;

std::string mtu_option(unsigned mtu) {
    return mtu == 0 ? "" : fmt::format(";mtu={}", mtu);
}

}  // namespace

Transport parse_transport(std::string_view text) {
    for (const auto& [transport, name] : names)
        if (name == text) return transport;
    throw std::invalid_argument(
        fmt::format("'{}' is no transport: choose inproc, udp, memif or veth", text));
}

std::string_view to_string(Transport transport) {
    for (const auto& [candidate, name] : names)
        if (candidate == transport) return name;
    return "unknown";
}

TransportPlan plan_transport(Transport transport, unsigned workers, unsigned mtu,
                             const std::filesystem::path& sockets) {
    TransportPlan plan;
    if (transport == Transport::udp) {
        plan.aggregator_port = "udp:bind=127.0.0.1" + mtu_option(mtu);
        plan.worker_ports.assign(workers, plan.aggregator_port);
        return plan;
    }
    if (transport == Transport::inproc) {
        throw LaunchError("processes do not share an in-process network; use --transport udp");
    }
    if (workers > most_hosts) {
        throw LaunchError(
            fmt::format("{} workers are too many for {}: use {} at most, or --transport "
                        "udp",
                        workers, to_string(transport), most_hosts));
    }
    if (mtu == 0) mtu = transport == Transport::memif ? memory_mtu : ethernet_mtu;
    if (transport == Transport::veth) {
        plan.network = std::make_unique<VethNetwork>(workers, mtu);
        plan.aggregator_address = "10.77.0.254";
        plan.aggregator_port =
            fmt::format("dpdk:net_af_packet0,iface={};ip={}{}", VethNetwork::hub_interface,
                        plan.aggregator_address, mtu_option(mtu));
        for (unsigned rank = 0; rank < workers; ++rank) {
            plan.worker_ports.push_back(fmt::format("dpdk:net_af_packet0,iface={};ip=10.77.0.{}{}",
                                                    VethNetwork::host_interface, rank + 1,
                                                    mtu_option(mtu)));
        }
        return plan;
    }
    // A frame in each buffer, and a buffer for each packet that may be under way: a ring that holds
    // fewer drops what a busy process does not fetch in time.
    const std::size_t frame = (mtu + 14 + 63) / 64 * 64;
    // Each memif is a link of its own, so the aggregator can have the same address on all of them.
    plan.aggregator_address = "10.78.0.254";
    for (unsigned rank = 0; rank < workers; ++rank) {
        const auto link = [&](unsigned number, std::string_view role) {
            return fmt::format(
                "dpdk:net_memif{},role={},id={},socket={},socket-abstract=no,rsize=10,bsize={}",
                number, role, rank, (sockets / "memif.sock").string(), frame);
        };
        plan.aggregator_port +=
            fmt::format("{}{};ip={}{}", rank == 0 ? "" : " + ", link(rank, "server"),
                        plan.aggregator_address, mtu_option(mtu));
        plan.worker_ports.push_back(
            fmt::format("{};ip=10.78.0.{}{}", link(0, "client"), rank + 1, mtu_option(mtu)));
    }
    return plan;
}

}  // namespace sumwire::apps
