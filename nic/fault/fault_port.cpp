#include "nic/fault/fault_port.h"

#include <algorithm>

namespace sumwire::nic {
namespace {

constexpr std::size_t held_packets = 64;
constexpr std::chrono::microseconds retry_when_blocked{50};

}  // namespace

FaultPort::FaultPort(std::unique_ptr<PacketPort> inner, const FaultOptions& options)
    : inner_(std::move(inner)),
      info_(inner_->info()),
      tx_plan_(options, Direction::transmit),
      rx_plan_(options, Direction::receive),
      tx_held_(held_packets, info_.max_datagram, options.patience),
      rx_held_(held_packets, info_.max_datagram, options.patience) {
    if (options.corrupt > 0) info_.detects_corruption = false;
    // What is held back is ready at its own time.
    info_.arrivals_descriptor = -1;
    info_.description += " with faults (" + to_string(options) + ")";
}

FaultPort::~FaultPort() {
    while (const HeldPacket* packet = tx_held_.any()) {
        if (!send(*packet)) break;
        tx_held_.pop(packet);
    }
    while (const HeldPacket* packet = rx_held_.any()) {
        const HeldPacket held = rx_held_.pop(packet);
        const RxPacket received{held.peer, held.datagram, held.buffer};
        if (!rx_held_.owns(held.buffer)) inner_->release({&received, 1});
    }
    inner_->release(std::span(raw_).subspan(raw_next_, raw_count_ - raw_next_));
}

std::size_t FaultPort::transmit(std::span<const TxPacket> burst) {
    std::size_t taken = 0;
    // Passes on what stands between `taken` and `end`, untouched.
    const auto pass_until = [&](std::size_t end) {
        if (taken < end) {
            const std::size_t passed = inner_->transmit(burst.subspan(taken, end - taken));
            taken += passed;
            tx_position_ += passed;
        }
        return taken == end;
    };

    for (std::size_t i = 0; i < burst.size(); ++i) {
        const std::uint64_t position = tx_position_ + (i - taken);
        if (tx_held_.due(position) != nullptr) {
            if (!pass_until(i) || !send_due(position)) return taken;
        }
        if (tx_plan_.fate(position).plain()) continue;
        if (!pass_until(i)) return taken;
        if (befall(burst[i])) {
            ++taken;
            ++tx_position_;
        }
    }
    if (pass_until(burst.size())) send_due(tx_position_);
    return taken;
}

bool FaultPort::befall(const TxPacket& packet) {
    const std::uint64_t position = tx_position_;
    const Fate fate = tx_plan_.fate(position);
    if (fate.lost) return true;
    if (packet.header.size() + packet.payload.size() > info_.max_datagram) return false;
    if (!tx_held_.can_copy(fate.duplicated ? 2 : 1)) return false;

    const auto copy = tx_held_.hold_copy(packet.to, packet.header, packet.payload,
                                         position + 1 + fate.displacement);
    if (fate.corrupted) tx_plan_.corrupt(position, copy);
    if (fate.duplicated) {
        tx_held_.hold_copy(packet.to, packet.header, packet.payload,
                           position + 1 + fate.duplicate_after);
    }
    return true;
}

bool FaultPort::send_due(std::uint64_t position) {
    while (const HeldPacket* packet = tx_held_.due(position)) {
        if (!send(*packet)) return false;
        tx_held_.give_back(tx_held_.pop(packet).buffer);
    }
    return true;
}

bool FaultPort::send(const HeldPacket& packet) {
    TxPacket outgoing;
    outgoing.to = packet.peer;
    outgoing.header = packet.datagram;
    return inner_->transmit({&outgoing, 1}) == 1;
}

std::size_t FaultPort::receive(std::span<RxPacket> burst) {
    send_due(tx_position_);
    std::size_t count = 0;
    bool exhausted = false;
    while (count < burst.size()) {
        if (const HeldPacket* packet = rx_held_.due(rx_position_)) {
            const HeldPacket held = rx_held_.pop(packet);
            burst[count++] = {held.peer, held.datagram, held.buffer};
        } else if (raw_next_ < raw_count_) {
            const RxPacket& raw = raw_[raw_next_++];
            if (befall(raw)) burst[count++] = raw;
        } else if (!exhausted) {
            const std::size_t wanted = std::min(raw_.size(), burst.size() - count);
            raw_next_ = 0;
            raw_count_ = inner_->receive(std::span(raw_).first(wanted));
            exhausted = raw_count_ < wanted;
        } else {
            break;
        }
    }
    return count;
}

bool FaultPort::befall(const RxPacket& packet) {
    const std::uint64_t position = rx_position_++;
    const Fate fate = rx_plan_.fate(position);
    if (fate.lost) {
        inner_->release({&packet, 1});
        return false;
    }
    const bool fits = packet.datagram.size() <= info_.max_datagram;
    if (fate.duplicated && fits && rx_held_.can_copy(1)) {
        rx_held_.hold_copy(packet.from, packet.datagram, {}, position + 1 + fate.duplicate_after);
    }
    if (fate.corrupted) rx_plan_.corrupt(position, packet.datagram);
    if (fate.displacement == 0 || !rx_held_.can_hold()) return true;
    rx_held_.hold(packet.from, packet.datagram, packet.buffer, position + 1 + fate.displacement);
    return false;
}

void FaultPort::release(std::span<const RxPacket> packets) {
    std::size_t start = 0;
    for (std::size_t i = 0; i < packets.size(); ++i) {
        if (!rx_held_.owns(packets[i].buffer)) continue;
        inner_->release(packets.subspan(start, i - start));
        rx_held_.give_back(packets[i].buffer);
        start = i + 1;
    }
    inner_->release(packets.subspan(start));
}

void FaultPort::wait(std::chrono::microseconds timeout) {
    const bool sent = send_due(tx_position_);
    if (raw_next_ < raw_count_ || rx_held_.due(rx_position_) != nullptr) return;
    const auto until_due = tx_held_.time_left(rx_held_.time_left(timeout));
    inner_->wait(sent ? until_due : std::min(timeout, std::max(until_due, retry_when_blocked)));
    send_due(tx_position_);
}

std::unique_ptr<MemoryRegion> FaultPort::register_memory(std::span<std::byte>) {
    return nullptr;
}

}  // namespace sumwire::nic
