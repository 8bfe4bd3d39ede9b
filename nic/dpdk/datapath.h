// The bursts of a DPDK port.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "nic/dpdk/arp.h"
#include "nic/dpdk/borrowed_memory.h"
#include "nic/dpdk/device.h"
#include "nic/dpdk/packet_pool.h"
#include "nic/dpdk/pending_frames.h"
#include "nic/port.h"
#include "nic/port_counters.h"

namespace sumwire::nic {

// All that set-up decides.
struct DatapathPlan {
    PortInfo info;
    ArpHost host;
    std::optional<std::uint32_t> peer;  // asked for by ARP as soon as possible
    unsigned buffers = 0;               // in each direction
    std::size_t buffer_bytes = 0;       // of a frame
    bool udp_checksums = false;  // on what is sent; what is received is verified if it has one
    bool zero_copy = true;
    Device::Setup device;  // the pool is filled in
};

class Datapath final : public PacketPort {
  public:
    // Starts the device. Throws SetupError.
    Datapath(Device device, DatapathPlan plan);
    ~Datapath() override;

    const PortInfo& info() const override { return info_; }
    std::size_t transmit(std::span<const TxPacket> burst) override;
    std::size_t receive(std::span<RxPacket> burst) override;
    void release(std::span<const RxPacket> packets) override;
    void wait(std::chrono::microseconds timeout) override;
    std::unique_ptr<MemoryRegion> register_memory(std::span<std::byte> memory) override;
    PortCounters counters() const override { return counters_.read(); }

  private:
    static constexpr std::size_t burst_size = 32;
    // The port is one thread's at a time, but a region may go on another one, and then has to move
    // the driver; and there are interrupts. The datapath never waits: who comes second finds the
    // port busy.
    class Turn;

    std::size_t transmit_some(std::span<const TxPacket> burst, Time now);
    const MacAddress* next_hop(std::uint32_t address, Time now);
    bool fill(rte_mbuf* frame, const TxPacket& packet, const MacAddress& mac);
    bool append_payload(rte_mbuf* frame, const TxPacket& packet);
    void finish_checksum(rte_mbuf* frame, const TxPacket& packet);
    // Offers frames to the device and returns how many are gone: taken, or freed because the driver
    // can never send them.
    std::size_t send(std::span<rte_mbuf*> frames);
    // What the device had no room for. False if it still has none.
    bool send_pending();
    void send_arp(const ArpPacket& packet);
    bool accept(rte_mbuf* frame, Time now, RxPacket& packet);
    bool checksum_is_good(const rte_mbuf* frame, const UdpFrame& udp,
                          std::span<const std::byte> bytes) const;
    rte_mbuf* contiguous(rte_mbuf* frame);
    void look_for_link(Time now);
    void reclaim();
    void restart();

    PortInfo info_;
    PacketPool receive_pool_;
    PacketPool transmit_pool_;
    PacketPool loan_pool_;
    Device device_;
    ArpTable arp_;
    ArpPacket announcement_;  // harmless traffic that moves the driver
    Time announced_{};
    UdpPath path_;  // the destination changes from packet to packet
    std::optional<std::uint32_t> peer_;
    bool link_seen_ = false;
    bool udp_checksums_;
    bool offload_;
    bool zero_copy_;
    std::atomic_flag busy_;
    PendingFrames<burst_size> pending_;

    LivePortCounters counters_;
};

}  // namespace sumwire::nic
