// Opens a port from one line of text, as users write it on a command line.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "nic/endpoint.h"
#include "nic/port.h"

namespace sumwire::nic {

// What the text leaves open.
struct PortDefaults {
    // UDP port to bind; 0 lets the port choose a free one (workers), aggregators pass theirs.
    std::uint16_t udp_port = 0;
    // Whom the port will talk to, if it is a client: finds the local address and the path's MTU.
    std::optional<Endpoint> peer;
};

// The grammar; options are separated by ';' because DPDK's device arguments use commas:
//
//   udp[:bind=A.B.C.D[:PORT]][;mtu=N][;offload=on|off]
//       Kernel UDP sockets. No privileges. Default: every address; the MTU of the path to the peer.
//       offload=off where the peer is a DPDK port on the other end of a veth (udp_port.h).
//   inproc:NETWORK[;ip=A.B.C.D][;mtu=N]
//       The network of that name inside this process; made on first use.
//   dpdk:DEVICE[;ip=A.B.C.D][;port=N][;prefix=24][;gateway=A.B.C.D][;neighbor=A.B.C.D@MAC]...[;mtu=N]
//       [;checksum=auto|on|off][;zero_copy=on|off][;eal=ARGUMENTS]
//       DEVICE is what DPDK's --vdev or --allow takes ("net_af_packet0,iface=eth0",
//       "0000:3b:00.0"). Neighbours are resolved by ARP unless given.
//
// Any of them may have ";faults=..." (fault_options.h). Several, joined by " + ", make one
// CompositePort: an aggregator with a memif to each of its workers.
//
// Throws SetupError that quotes the text and names the remedy.
std::unique_ptr<PacketPort> open_port(std::string_view spec, const PortDefaults& defaults);

}  // namespace sumwire::nic
