// Pairs of DPDK ports with a link between them, made inside this process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "nic/dpdk/dpdk_port.h"
#include "tests/port/conformance.h"

struct rte_ring;

namespace sumwire::nic {

inline constexpr std::uint32_t left_address = 0x0a530001;   // 10.83.0.1
inline constexpr std::uint32_t right_address = 0x0a530002;  // 10.83.0.2
inline constexpr std::uint16_t test_port = 5000;

DpdkPortOptions options_of(std::string device, std::uint32_t ip);

// Two rings, and the number of the DPDK device at each end.
struct RingLink {
    RingLink();
    ~RingLink();
    RingLink(const RingLink&) = delete;
    RingLink& operator=(const RingLink&) = delete;

    rte_ring* left_to_right;
    rte_ring* right_to_left;
    std::uint16_t left_device = 0;
    std::uint16_t right_device = 0;
};

// A veth pair ("swl", "swr") in a network namespace of this process's own, which it enters on first
// use. Throws Unavailable where that cannot be.
struct VethLink {
    explicit VethLink(unsigned mtu = 1500);
    ~VethLink();
    VethLink(const VethLink&) = delete;
    VethLink& operator=(const VethLink&) = delete;
};

// Another namespace, which takes over the right end of a VethLink and has right_address there.
class FarNamespace {
  public:
    FarNamespace();
    ~FarNamespace();
    FarNamespace(const FarNamespace&) = delete;
    FarNamespace& operator=(const FarNamespace&) = delete;

    // Runs on a thread inside the namespace; sockets opened there stay there.
    void run(const std::function<void()>& action) const;

  private:
    int descriptor_ = -1;
};

// Runs a command of iproute2, quietly. Throws Unavailable if it fails.
void ip(const std::string& arguments);

// Exchanges packets until both ports know each other.
void acquaint(PortPair& pair);

PortPair ring_pair(const std::function<void(DpdkPortOptions&)>& adjust = {});
PortPair memif_pair(const std::function<void(DpdkPortOptions&)>& adjust = {});
PortPair packet_socket_pair(unsigned mtu, const std::function<void(DpdkPortOptions&)>& adjust = {});
PortPair xdp_pair();
// a over DPDK, b a kernel UDP socket in another namespace.
PortPair kernel_peer_pair(const std::string& device);

}  // namespace sumwire::nic
