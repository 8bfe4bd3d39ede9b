#include "nic/udp/udp_port.h"

#include <fmt/format.h>

#include <algorithm>

#include "nic/wire.h"

namespace sumwire::nic {
namespace {

constexpr std::size_t max_ip_bytes = 65535;

}  // namespace

UdpPort::UdpPort(const UdpPortOptions& options) : socket_(options.bind) {
    std::size_t mtu = max_ip_bytes;
    info_.local = socket_.local();
    if (options.peer) {
        const Path path = find_path(*options.peer);
        mtu = path.mtu;
        if (info_.local.address == 0) info_.local.address = path.local_address;
    }
    mtu = std::min(options.mtu.value_or(mtu), max_ip_bytes);
    info_.max_datagram = mtu - ip_and_udp_bytes;
    info_.detects_corruption = options.offload;
    info_.receive_capacity = socket_.receive_buffer();
    info_.arrivals_descriptor = socket_.fd();

    const bool segment = options.offload && socket_.can_segment();
    const bool coalesce = socket_.coalesce();
    if (!options.offload) socket_.omit_checksums();
    info_.description = fmt::format("UDP socket {} (MTU {}, receive buffer {} KiB{}{})",
                                    to_string(info_.local), mtu, info_.receive_capacity / 1024,
                                    segment ? ", GSO" : "", coalesce ? ", GRO" : "");
    transmitter_ =
        std::make_unique<UdpTransmitter>(socket_.fd(), info_.max_datagram, segment, counters_);
    receiver_ = std::make_unique<UdpReceiver>(socket_.fd(), counters_);
}

std::unique_ptr<MemoryRegion> UdpPort::register_memory(std::span<std::byte>) {
    return nullptr;
}

}  // namespace sumwire::nic
