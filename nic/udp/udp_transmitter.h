// Sends bursts of datagrams through a UDP socket with as few system calls as possible.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/port.h"
#include "nic/port_counters.h"

namespace sumwire::nic {

// Runs of datagrams of one size to one endpoint travel through the kernel as one (UDP_SEGMENT).
class UdpTransmitter {
  public:
    UdpTransmitter(int fd, std::size_t max_datagram, bool segment, LivePortCounters& counters);

    // As PacketPort::transmit.
    std::size_t transmit(std::span<const TxPacket> burst);

  private:
    static constexpr std::size_t max_packets = 128;  // in one system call

    struct Group {
        std::size_t packets = 0;
        std::size_t bytes = 0;
    };
    struct alignas(cmsghdr) Control {
        std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> bytes;
    };

    // Describes a prefix of the burst in messages_ and groups_; returns their number. The first
    // `alone` packets are not grouped.
    std::size_t prepare(std::span<const TxPacket> burst, std::size_t alone);
    std::size_t group_length(std::span<const TxPacket> burst) const;

    int fd_;
    std::size_t max_datagram_;
    bool segment_;
    LivePortCounters& counters_;
    std::array<mmsghdr, max_packets> messages_{};
    std::array<Group, max_packets> groups_{};
    std::array<sockaddr_in, max_packets> addresses_{};
    std::array<Control, max_packets> controls_{};
    std::array<iovec, 2 * max_packets> pieces_{};
};

}  // namespace sumwire::nic
