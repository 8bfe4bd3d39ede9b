#include "nic/inproc/inproc_port.h"

#include <fmt/format.h>

#include <algorithm>

#include "nic/wire.h"

namespace sumwire::nic {

InprocPort::InprocPort(const InprocPortOptions& options)
    : network_(InprocNetwork::get(options.network)),
      inbox_(network_->join(options.ip, options.udp_port, options.mtu - ip_and_udp_bytes)) {
    info_.local = inbox_->owner();
    info_.max_datagram = inbox_->max_datagram();
    info_.detects_corruption = true;
    info_.description =
        fmt::format("in-process network \"{}\" (memory, no network)", options.network);
}

InprocPort::~InprocPort() {
    network_->leave(*inbox_);
}

std::size_t InprocPort::transmit(std::span<const TxPacket> burst) {
    if (generation_ != network_->generation()) generation_ = network_->list(peers_);

    std::size_t taken = 0;
    std::size_t sent = 0;
    std::size_t bytes = 0;
    Inbox* peer = nullptr;
    for (const TxPacket& packet : burst) {
        if (peer == nullptr || peer->owner().address != packet.to.address ||
            peer->owner().port != packet.to.port) {
            if (peer != nullptr) peer->notify();
            peer = find(packet.to);
        }
        const std::size_t size = packet.header.size() + packet.payload.size();
        if (peer != nullptr && size <= info_.max_datagram && size <= peer->max_datagram()) {
            if (!peer->deliver(info_.local, packet.header, packet.payload)) break;
            ++sent;
            bytes += size;
        }
        ++taken;
    }
    if (peer != nullptr) peer->notify();
    counters_.transmitted(sent, bytes);
    counters_.would_block(burst.size() - taken);
    return taken;
}

std::size_t InprocPort::receive(std::span<RxPacket> burst) {
    std::size_t count = 0;
    std::size_t bytes = 0;
    while (count < burst.size() && inbox_->take(burst[count])) {
        bytes += burst[count].datagram.size();
        ++count;
    }
    counters_.received(count, bytes);
    return count;
}

void InprocPort::release(std::span<const RxPacket> packets) {
    for (const RxPacket& packet : packets)
        inbox_->release(packet);
}

std::unique_ptr<MemoryRegion> InprocPort::register_memory(std::span<std::byte>) {
    return nullptr;
}

Inbox* InprocPort::find(const Endpoint& to) const {
    const Endpoint key{to.address, to.port, 0};
    const auto at = std::ranges::lower_bound(peers_, key, {}, &Inbox::owner);
    return at != peers_.end() && (*at)->owner() == key ? at->get() : nullptr;
}

}  // namespace sumwire::nic
