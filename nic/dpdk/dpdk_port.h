// The packet port over DPDK: any poll-mode driver, from a memif to a real NIC.
//
// - Neighbours are found by ARP. What is sent to one that is not found yet is lost, as is what is
//   sent while the link is down: both count as taken.
// - A memif's server must be there before its client; a client looks for a server that went away
//   until it is back.
// - A UDP checksum that is there is verified, whatever the options say. Over interfaces shared with
//   the kernel (net_af_packet, net_af_xdp) a checksum that this machine's kernel left unfinished is
//   accepted: such frames never left memory. A kernel socket there must not send segments to be cut
//   by the device (UDP_SEGMENT): nobody cuts them, and they are dropped.
// - A region's destruction may run on another thread than the port's; transmit and receive then
//   find the port busy now and then, and return 0. It waits until the network has let go of the
//   memory: over net_ring, until the peer has received. After 1.5 s it restarts the device, which
//   drops what it has not sent; what a peer in this process still holds then is leaked, with a
//   note.
// - DPDK's net_af_xdp keeps its interface until the process ends: it cannot be opened twice.
// - Threads that use a port become known to DPDK, until they end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nic/dpdk/neighbor.h"
#include "nic/endpoint.h"
#include "nic/port.h"

namespace sumwire::nic {

enum class UdpChecksum : std::uint8_t {
    automatic,  // where the network is more than memory
    on,
    off
};

struct DpdkPortOptions {
    // What --vdev or --allow takes: "net_memif0,role=client", "0000:3b:00.0".
    std::string device;
    std::optional<std::uint32_t> ip;  // host byte order; empty: the device's own, or one made up
    std::uint16_t udp_port = 0;       // 0: the port chooses one
    unsigned prefix_length = 24;
    std::optional<std::uint32_t> gateway;
    std::vector<Neighbor> neighbors;  // never asked for by ARP
    std::optional<std::size_t> mtu;   // of IPv4; empty: the device's
    UdpChecksum checksum = UdpChecksum::automatic;
    bool zero_copy = true;
    std::string eal_arguments;     // separated by blanks
    std::optional<Endpoint> peer;  // asked for by ARP as soon as the link is up
};

// Initialises DPDK's environment on first use. Sockets that the driver opens belong to the network
// namespace of the calling thread. Throws SetupError.
std::unique_ptr<PacketPort> make_dpdk_port(const DpdkPortOptions& options);

// The same over a device that the program has made with DPDK itself; options.device is ignored. The
// port stops, closes and detaches it in the end.
std::unique_ptr<PacketPort> adopt_dpdk_port(std::uint16_t port_id, const DpdkPortOptions& options);

}  // namespace sumwire::nic
