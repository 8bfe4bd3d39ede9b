// Packet ports over kernel UDP sockets: no privileges, no set-up. The datagrams are those of any
// other port, so that a DPDK peer does not see the difference.
//
// Holds at most 512 received buffers; while all are held, datagrams wait in the socket.
#pragma once

#include <memory>
#include <optional>

#include "nic/port.h"
#include "nic/port_counters.h"
#include "nic/udp/udp_receiver.h"
#include "nic/udp/udp_socket.h"
#include "nic/udp/udp_transmitter.h"

namespace sumwire::nic {

struct UdpPortOptions {
    Endpoint bind;  // address 0: every address; port 0: a free one
    // Empty: the MTU of the path to the peer; without a peer as large as UDP allows, and what does
    // not fit a path is dropped.
    std::optional<std::size_t> mtu;
    std::optional<Endpoint> peer;
    // Leave segmentation and checksums to the kernel and its devices. Off where the peer reads raw
    // frames at the other end of a virtual link (DPDK on veth): it would see unsegmented datagrams
    // and checksums that nobody computed. Then datagrams travel without UDP checksum.
    bool offload = true;
};

class UdpPort final : public PacketPort {
  public:
    // Throws SetupError if the address or port cannot be bound, or the peer has no route.
    explicit UdpPort(const UdpPortOptions& options);

    const PortInfo& info() const override { return info_; }
    std::size_t transmit(std::span<const TxPacket> burst) override {
        return transmitter_->transmit(burst);
    }
    std::size_t receive(std::span<RxPacket> burst) override { return receiver_->receive(burst); }
    void release(std::span<const RxPacket> packets) override { receiver_->release(packets); }
    void wait(std::chrono::microseconds timeout) override { receiver_->wait(timeout); }
    // Null: the kernel copies.
    std::unique_ptr<MemoryRegion> register_memory(std::span<std::byte> memory) override;
    PortCounters counters() const override { return counters_.read(); }

  private:
    UdpSocket socket_;
    PortInfo info_;
    LivePortCounters counters_;
    std::unique_ptr<UdpTransmitter> transmitter_;
    std::unique_ptr<UdpReceiver> receiver_;
};

}  // namespace sumwire::nic
