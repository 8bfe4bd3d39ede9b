// Packet ports of a network inside this process.
//
// Delivers in order, loses nothing, and pushes back: a datagram for a port whose 2,048 buffers are
// all full or held is not taken ("would block"). A real network would drop it; here the sender
// shares the machine with the receiver and can wait, so that memory alone never costs a
// retransmission. Whoever wants drops puts a FaultPort around it. Consequence: a port that is open
// but never read stops those who send to it once its buffers are full.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nic/inproc/inproc_network.h"
#include "nic/port.h"
#include "nic/port_counters.h"

namespace sumwire::nic {

struct InprocPortOptions {
    std::string network;
    std::optional<std::uint32_t> ip;  // host byte order; empty: the first free one of 127.1.0.0/16
    std::uint16_t udp_port = 0;       // 0: a free one
    std::size_t mtu = 9000;
};

class InprocPort final : public PacketPort {
  public:
    // Throws SetupError if the endpoint is in use.
    explicit InprocPort(const InprocPortOptions& options);
    ~InprocPort() override;

    const PortInfo& info() const override { return info_; }
    std::size_t transmit(std::span<const TxPacket> burst) override;
    std::size_t receive(std::span<RxPacket> burst) override;
    void release(std::span<const RxPacket> packets) override;
    void wait(std::chrono::microseconds timeout) override { inbox_->wait(timeout); }
    // Null: delivery is the copy.
    std::unique_ptr<MemoryRegion> register_memory(std::span<std::byte> memory) override;
    PortCounters counters() const override { return counters_.read(); }

  private:
    Inbox* find(const Endpoint& to) const;

    std::shared_ptr<InprocNetwork> network_;
    std::shared_ptr<Inbox> inbox_;
    PortInfo info_;
    // The network's ports as of `generation_`: transmit takes no lock while nobody joins or leaves.
    std::vector<std::shared_ptr<Inbox>> peers_;
    std::uint64_t generation_ = 0;
    LivePortCounters counters_;
};

}  // namespace sumwire::nic
