// Receives bursts of datagrams from a UDP socket with as few system calls as possible.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "nic/port.h"
#include "nic/port_counters.h"

namespace sumwire::nic {

// The kernel may deliver several datagrams of one sender as one (UDP_GRO). They lie in one slab,
// which is free again when all of them are released.
class UdpReceiver {
  public:
    UdpReceiver(int fd, LivePortCounters& counters);

    // As PacketPort::receive, release, wait.
    std::size_t receive(std::span<RxPacket> burst);
    void release(std::span<const RxPacket> packets);
    void wait(std::chrono::microseconds timeout);

  private:
    static constexpr std::size_t max_messages = 32;  // in one system call
    static constexpr std::size_t slabs = 512;

    struct Slab {
        Endpoint from;
        std::byte* memory = nullptr;
        std::size_t size = 0;
        std::size_t segment = 0;  // size of each datagram in it but the last
        std::size_t handed_out = 0;
        std::uint32_t users = 0;  // datagrams not released, and this class until all are handed out
    };
    struct alignas(cmsghdr) Control {
        std::array<std::byte, CMSG_SPACE(sizeof(int))> bytes;
    };

    // True if there may be more in the socket.
    bool refill();
    bool accept(Slab& slab, const mmsghdr& message);
    std::size_t hand_out(std::span<RxPacket> burst);
    void drop_user(Slab& slab);

    int fd_;
    LivePortCounters& counters_;
    std::unique_ptr<std::byte[]> memory_;
    std::vector<Slab> slabs_;
    std::vector<Slab*> free_;
    // Received and not yet handed out: those from next_ready_ on.
    std::array<Slab*, max_messages> ready_{};
    std::size_t ready_count_ = 0;
    std::size_t next_ready_ = 0;
    std::array<mmsghdr, max_messages> messages_{};
    std::array<sockaddr_in, max_messages> addresses_{};
    std::array<Control, max_messages> controls_{};
    std::array<iovec, max_messages> pieces_{};
};

}  // namespace sumwire::nic
