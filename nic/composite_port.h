// Several ports as one: an aggregator with a link to each of its workers.
//
// Endpoint.link tells the member: set in what is received, obeyed in what is transmitted, and
// needed by release, so `from` must be as it was received. A burst goes out in runs of one link
// each; a member that would block ends the burst.
//
// wait ends at once when a packet comes if every member has a descriptor (UDP sockets), within
// 50 us if some member is blind to arrivals (DPDK), and else within 100 us for each member.
#pragma once

#include <poll.h>

#include <memory>
#include <vector>

#include "nic/port.h"
#include "nic/port_counters.h"

namespace sumwire::nic {

class CompositePort final : public PacketPort {
  public:
    // At least one member, none of them composite. Throws SetupError otherwise.
    explicit CompositePort(std::vector<std::unique_ptr<PacketPort>> members);

    // `local` is the first member's; max_datagram and the like are what every member can do.
    const PortInfo& info() const override { return info_; }
    std::size_t transmit(std::span<const TxPacket> burst) override;
    std::size_t receive(std::span<RxPacket> burst) override;
    void release(std::span<const RxPacket> packets) override;
    void wait(std::chrono::microseconds timeout) override;
    // Null if no member gains from it.
    std::unique_ptr<MemoryRegion> register_memory(std::span<std::byte> memory) override;
    PortCounters counters() const override;

  private:
    void add_to_info(const PortInfo& member);
    void poll(std::chrono::microseconds timeout);
    void nap(std::chrono::microseconds timeout);
    void listen_in_turn(std::chrono::microseconds timeout);

    std::vector<std::unique_ptr<PacketPort>> members_;
    PortInfo info_;
    LivePortCounters refused_;         // the members see only part of a burst that ends early
    std::vector<pollfd> descriptors_;  // one for each member, or empty
    bool drained_ = true;              // the last receive found no more
    std::size_t next_to_receive_ = 0;
    std::size_t next_to_wait_ = 0;
};

}  // namespace sumwire::nic
