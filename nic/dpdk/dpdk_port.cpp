#include "nic/dpdk/dpdk_port.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "nic/dpdk/datapath.h"
#include "nic/dpdk/device.h"
#include "nic/dpdk/driver.h"
#include "nic/dpdk/eal.h"
#include "nic/dpdk/eal_arguments.h"
#include "nic/dpdk/kernel_interface.h"
#include "nic/wire.h"

namespace sumwire::nic {
namespace {

constexpr std::size_t default_mtu = 1500;
constexpr std::size_t least_payload = 64;
constexpr std::size_t least_mtu = packet_overhead_bytes + least_payload;
constexpr std::size_t largest_mtu = 65000;  // DPDK counts the bytes of a buffer in 16 bits

constexpr std::uint32_t made_up_address = 10U << 24 | 83U << 16 | 87U << 8 | 1U;
constexpr std::uint16_t first_ephemeral_port = 49152;

// More than any driver keeps in its rings, and some that the caller holds.
constexpr std::size_t most_buffers = 4095;
constexpr std::size_t fewest_buffers = 2047;
constexpr std::size_t buffer_budget = 48U << 20;

struct Mtu {
    std::size_t bytes = default_mtu;
    bool set_on_device = false;
};

Mtu choose_mtu(const Device& device, const std::optional<KernelInterface>& kernel,
               const std::optional<std::size_t>& wanted) {
    const std::size_t device_limit = device.info().max_mtu;
    Mtu mtu;
    if (device.traits().memory) {
        mtu.bytes = wanted.value_or(default_mtu);
    } else if (kernel && !device.physical()) {
        mtu.bytes = std::min(kernel->mtu, device_limit);
        if (wanted && *wanted > mtu.bytes) {
            throw SetupError(
                *wanted <= device_limit
                    ? fmt::format("{} has an MTU of {}, {} was asked for: ip link set dev {} mtu "
                                  "{}, or give a smaller 'mtu='",
                                  device.interface(), kernel->mtu, *wanted, device.interface(),
                                  *wanted)
                    : fmt::format("{} cannot carry an MTU of {}: give at most 'mtu={}'",
                                  device.driver(), *wanted, device_limit));
        }
        mtu.bytes = wanted.value_or(mtu.bytes);
    } else {
        mtu.bytes = wanted.value_or(kernel ? kernel->mtu : default_mtu);
        mtu.set_on_device = wanted || kernel;
        if (mtu.bytes > device_limit) {
            throw SetupError(fmt::format("'{}' cannot carry an MTU of {}: give at most 'mtu={}'",
                                         device.name(), mtu.bytes, device_limit));
        }
    }
    if (mtu.bytes < least_mtu || mtu.bytes > largest_mtu) {
        throw SetupError(fmt::format(
            "the MTU of '{}' is {}, Sumwire needs {} to {}: set it with 'mtu=' or on the device",
            device.name(), mtu.bytes, least_mtu, largest_mtu));
    }
    return mtu;
}

std::uint32_t random_number() {
    return std::random_device{}();
}

// On the peer's subnet, if there is a peer.
std::uint32_t make_up_address(const DpdkPortOptions& options) {
    if (!options.peer) return made_up_address;
    const unsigned host_bits = 32 - std::min(options.prefix_length, 32U);
    const std::uint32_t host_mask =
        host_bits >= 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << host_bits) - 1;
    const std::uint32_t network = options.peer->address & ~host_mask;
    if (host_mask < 3) {
        throw SetupError("the subnet has no second address for this port: give 'ip='");
    }
    std::uint32_t address = options.peer->address;
    while (address == options.peer->address) {
        address = network | (1 + random_number() % (host_mask - 1));
    }
    return address;
}

// Devices made of rings have none: then a random one, locally administered.
MacAddress mac_of(const Device& device) {
    MacAddress mac = device.mac();
    if (is_unicast(mac)) return mac;
    for (std::uint8_t& octet : mac)
        octet = static_cast<std::uint8_t>(random_number());
    mac[0] = 0x02;
    return mac;
}

std::string describe(const Device& device, const std::optional<KernelInterface>& kernel) {
    std::string text = device.name();
    if (device.traits().memory) {
        text += " (memory, no network";
    } else if (kernel) {
        text += fmt::format(" (on {}, shared with the kernel", device.interface());
    } else {
        text += fmt::format(" ({}", device.driver());
    }
    if (!eal_note().empty()) text += ", without hugepages";
    return text + ")";
}

std::unique_ptr<PacketPort> open(Device device, const std::string& text,
                                 const DpdkPortOptions& options) {
    if (options.prefix_length > 32) {
        throw SetupError(fmt::format("prefix={} is no length of an IPv4 prefix: 0 to 32",
                                     options.prefix_length));
    }
    const auto kernel = read_kernel_interface(device.interface());
    const Mtu mtu = choose_mtu(device, kernel, options.mtu);
    DatapathPlan plan;
    auto& local = plan.info.local;
    if (options.ip) {
        local.address = *options.ip;
    } else if (kernel && kernel->address) {
        local.address = *kernel->address;
    } else {
        local.address = make_up_address(options);
    }
    local.port = options.udp_port;
    if (local.port == 0) {
        local.port = static_cast<std::uint16_t>(first_ephemeral_port | (random_number() & 0x3fff));
    }
    plan.udp_checksums = options.checksum == UdpChecksum::on ||
                         (options.checksum == UdpChecksum::automatic && !device.traits().memory);
    plan.info.max_datagram = mtu.bytes - ip_and_udp_bytes;
    plan.info.detects_corruption = plan.udp_checksums || device.traits().memory;
    plan.info.description = describe(device, kernel);
    plan.info.signals_arrivals = false;
    plan.host = {.address = local.address,
                 .mac = mac_of(device),
                 .prefix_length = options.prefix_length,
                 .gateway = options.gateway,
                 .neighbors = options.neighbors};
    if (options.peer) plan.peer = options.peer->address;
    plan.buffer_bytes = receive_room(text, mtu.bytes);
    plan.buffers = static_cast<unsigned>(
        std::clamp(buffer_budget / plan.buffer_bytes, fewest_buffers, most_buffers));
    plan.zero_copy = options.zero_copy;
    if (mtu.set_on_device) plan.device.mtu = mtu.bytes;
    plan.device.checksum_offload = plan.udp_checksums;
    return std::make_unique<Datapath>(std::move(device), std::move(plan));
}

}  // namespace

std::unique_ptr<PacketPort> make_dpdk_port(const DpdkPortOptions& options) {
    if (options.device.empty()) {
        throw SetupError(
            "a DPDK port needs a device: 'dpdk:net_memif0,…', 'dpdk:net_af_packet0,iface=eth0' or "
            "the PCI address of a network card");
    }
    start_eal(split_arguments(options.eal_arguments),
              is_pci_device(options.device) ? std::optional(options.device) : std::nullopt);
    // The kernel sends frames as large as its interface allows, whatever this port sends.
    std::size_t mtu = options.mtu.value_or(default_mtu);
    if (const auto interface = device_option(options.device, "iface")) {
        if (const auto kernel = read_kernel_interface(std::string(*interface))) {
            mtu = std::max(mtu, kernel->mtu);
        }
    }
    const std::string text = complete_device(options.device, mtu);
    return open(Device::attach(text), text, options);
}

std::unique_ptr<PacketPort> adopt_dpdk_port(std::uint16_t port_id, const DpdkPortOptions& options) {
    start_eal(split_arguments(options.eal_arguments), std::nullopt);
    Device device = Device::adopt(port_id);
    const std::string text = device.name();
    return open(std::move(device), text, options);
}

}  // namespace sumwire::nic
