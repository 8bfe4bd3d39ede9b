#include "nic/fault/held_packets.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace sumwire::nic {

using Clock = std::chrono::steady_clock;

HeldPackets::HeldPackets(std::size_t capacity, std::size_t max_datagram,
                         std::chrono::microseconds patience)
    : patience_(patience),
      stride_((max_datagram + 63) / 64 * 64),
      memory_bytes_(capacity * stride_),
      memory_(std::make_unique_for_overwrite<std::byte[]>(memory_bytes_)) {
    packets_.reserve(capacity);
    free_.reserve(capacity);
    for (std::size_t i = 0; i < capacity; ++i)
        free_.push_back(memory_.get() + i * stride_);
}

std::span<std::byte> HeldPackets::hold_copy(const Endpoint& peer, std::span<const std::byte> header,
                                            std::span<const std::byte> payload,
                                            std::uint64_t due_position) {
    std::byte* memory = free_.back();
    free_.pop_back();
    std::ranges::copy(header, memory);
    std::ranges::copy(payload, memory + header.size());
    const std::span datagram(memory, header.size() + payload.size());
    hold(peer, datagram, memory, due_position);
    return datagram;
}

void HeldPackets::hold(const Endpoint& peer, std::span<std::byte> datagram, void* buffer,
                       std::uint64_t due_position) {
    packets_.push_back(
        {due_position, Clock::now() + patience_, arrivals_++, peer, datagram, buffer});
}

const HeldPacket* HeldPackets::due(std::uint64_t position) const {
    if (packets_.empty()) return nullptr;
    const auto now = Clock::now();
    const HeldPacket* next = nullptr;
    for (const HeldPacket& packet : packets_) {
        if (packet.due_position > position && packet.due_time > now) continue;
        if (next == nullptr || std::tie(packet.due_position, packet.arrival) <
                                   std::tie(next->due_position, next->arrival)) {
            next = &packet;
        }
    }
    return next;
}

HeldPacket HeldPackets::pop(const HeldPacket* packet) {
    const HeldPacket taken = *packet;
    packets_.erase(packets_.begin() + (packet - packets_.data()));
    return taken;
}

bool HeldPackets::owns(const void* buffer) const {
    const std::less<const void*> before;
    return !before(buffer, memory_.get()) && before(buffer, memory_.get() + memory_bytes_);
}

std::chrono::microseconds HeldPackets::time_left(std::chrono::microseconds limit) const {
    if (packets_.empty()) return limit;
    const auto first = std::ranges::min_element(packets_, {}, &HeldPacket::due_time)->due_time;
    const auto left = std::chrono::ceil<std::chrono::microseconds>(first - Clock::now());
    return std::clamp(left, std::chrono::microseconds(0),
                      std::max(limit, std::chrono::microseconds(0)));
}

}  // namespace sumwire::nic
