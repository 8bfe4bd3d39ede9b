// Datagrams that a FaultPort holds back, in one direction.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "nic/endpoint.h"

namespace sumwire::nic {

struct HeldPacket {
    std::uint64_t due_position = 0;  // may go before the datagram of this position
    std::chrono::steady_clock::time_point due_time;
    std::uint64_t arrival = 0;
    Endpoint peer;
    std::span<std::byte> datagram;
    void* buffer = nullptr;
};

// Bounded; allocates at construction only.
class HeldPackets {
  public:
    HeldPackets(std::size_t capacity, std::size_t max_datagram, std::chrono::microseconds patience);

    bool empty() const { return packets_.empty(); }
    bool can_hold() const { return packets_.size() < packets_.capacity(); }
    bool can_copy(std::size_t copies) const {
        return packets_.size() + copies <= packets_.capacity() && free_.size() >= copies;
    }

    // Holds a copy in memory of its own, which is the packet's buffer, and which is in use until
    // give_back. can_copy must be true.
    std::span<std::byte> hold_copy(const Endpoint& peer, std::span<const std::byte> header,
                                   std::span<const std::byte> payload, std::uint64_t due_position);
    // Holds memory of others. can_hold must be true.
    void hold(const Endpoint& peer, std::span<std::byte> datagram, void* buffer,
              std::uint64_t due_position);

    // The next whose position or time has come; null if none has. Stays until pop.
    const HeldPacket* due(std::uint64_t position) const;
    const HeldPacket* any() const { return packets_.empty() ? nullptr : &packets_.front(); }
    HeldPacket pop(const HeldPacket* packet);

    bool owns(const void* buffer) const;
    void give_back(void* buffer) { free_.push_back(static_cast<std::byte*>(buffer)); }

    // Until the time of one has come, at most `limit`.
    std::chrono::microseconds time_left(std::chrono::microseconds limit) const;

  private:
    std::chrono::microseconds patience_;
    std::size_t stride_;
    std::size_t memory_bytes_;
    std::unique_ptr<std::byte[]> memory_;
    std::vector<std::byte*> free_;
    std::vector<HeldPacket> packets_;
    std::uint64_t arrivals_ = 0;
};

}  // namespace sumwire::nic
