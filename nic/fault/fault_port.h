// A port that damages traffic on purpose: loss, duplication, reordering, corruption, by a seed.
//
// The same seed and sequence of datagrams meet the same faults; the order in which held-back ones
// go on depends on time too once no traffic follows within `patience`. They go on with a later
// transmit, receive or wait. When no buffer is free to hold a datagram back, it passes untouched.
//
// counters() are those of the port underneath: what the network really carried.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "nic/fault/fault_options.h"
#include "nic/fault/fault_plan.h"
#include "nic/fault/held_packets.h"
#include "nic/port.h"

namespace sumwire::nic {

class FaultPort final : public PacketPort {
  public:
    FaultPort(std::unique_ptr<PacketPort> inner, const FaultOptions& options);
    // Sends what is held back, as far as the port underneath takes it.
    ~FaultPort() override;

    const PortInfo& info() const override { return info_; }
    std::size_t transmit(std::span<const TxPacket> burst) override;
    std::size_t receive(std::span<RxPacket> burst) override;
    void release(std::span<const RxPacket> packets) override;
    void wait(std::chrono::microseconds timeout) override;
    // Null: what is held back is copied.
    std::unique_ptr<MemoryRegion> register_memory(std::span<std::byte> memory) override;
    PortCounters counters() const override { return inner_->counters(); }

  private:
    // False if the inner port would block.
    bool send_due(std::uint64_t position);
    bool send(const HeldPacket& packet);
    // False if the datagram shall pass untouched.
    bool befall(const TxPacket& packet);
    // True if the datagram is to be delivered now.
    bool befall(const RxPacket& packet);

    std::unique_ptr<PacketPort> inner_;
    PortInfo info_;
    FaultPlan tx_plan_;
    FaultPlan rx_plan_;
    HeldPackets tx_held_;
    HeldPackets rx_held_;
    std::uint64_t tx_position_ = 0;
    std::uint64_t rx_position_ = 0;
    // Received from the inner port, fate not yet decided: [raw_next_, raw_count_).
    std::array<RxPacket, 64> raw_{};
    std::size_t raw_next_ = 0;
    std::size_t raw_count_ = 0;
};

}  // namespace sumwire::nic
