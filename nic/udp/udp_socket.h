// A bound, non-blocking kernel UDP socket that never fragments.
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>

#include "nic/endpoint.h"

namespace sumwire::nic {

class UdpSocket {
  public:
    // Binds to an address (0: any) and port (0: a free one). Throws SetupError.
    explicit UdpSocket(const Endpoint& bind);
    ~UdpSocket();
    UdpSocket(const UdpSocket&) = delete;
    UdpSocket& operator=(const UdpSocket&) = delete;

    int fd() const { return fd_; }
    Endpoint local() const;
    // What the kernel granted, in bytes of datagrams.
    std::size_t receive_buffer() const;

    // True if the kernel has segmentation on transmit.
    bool can_segment() const;
    // Asks for coalesced datagrams; false if the kernel does not have that.
    bool coalesce();
    // Sends without UDP checksum from now on, as a DPDK peer behind a virtual link needs, which
    // sees the checksums that the kernel leaves to hardware that is not there.
    void omit_checksums();

  private:
    int fd_;
};

struct Path {
    std::uint32_t local_address = 0;
    std::size_t mtu = 0;
};

// How this host reaches the peer. Sends nothing. Throws SetupError if there is no route.
Path find_path(const Endpoint& peer);

sockaddr_in to_sockaddr(const Endpoint& endpoint);
Endpoint to_endpoint(const sockaddr_in& address);

}  // namespace sumwire::nic
