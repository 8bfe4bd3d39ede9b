#include "nic/dpdk/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <numeric>

#include "nic/dpdk/frame.h"
#include "nic/port.h"

namespace sumwire::nic {
namespace {

constexpr std::size_t vlan_tag_bytes = 4;
constexpr std::size_t page_bytes = 4096;

// Before each received frame in a packet socket's ring: its header, link address, alignment.
constexpr std::size_t packet_socket_head = 128;
constexpr std::size_t packet_socket_unit = 1024;
constexpr std::size_t packet_socket_ring_bytes = 16U << 20;

constexpr std::size_t memif_buffer = 2048;
constexpr std::size_t memif_max_buffer = 65535;

bool is_any_of(std::string_view driver, std::initializer_list<std::string_view> names) {
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return driver.starts_with(name); });
}

std::size_t frame_bytes(std::size_t mtu) {
    return ethernet_header_bytes + vlan_tag_bytes + mtu;
}

std::size_t round_up(std::size_t value, std::size_t unit) {
    return (value + unit - 1) / unit * unit;
}

std::size_t number_or(std::string_view device, std::string_view key, std::size_t otherwise) {
    const auto text = device_option(device, key);
    if (!text) return otherwise;
    std::size_t value = 0;
    std::from_chars(text->data(), text->data() + text->size(), value);
    return value;
}

void require(std::string_view device, std::string_view key, std::size_t given, std::size_t needed) {
    if (given >= needed) return;
    throw SetupError(
        fmt::format("{}={} in '{}' is too small for the MTU, which needs {}: raise it "
                    "or leave it out",
                    key, given, device, needed));
}

std::string complete_packet_socket(std::string_view device, std::size_t mtu) {
    std::string result(device);
    const std::size_t needed = packet_socket_head + frame_bytes(mtu);
    std::size_t frame = number_or(device, "framesz", 0);
    if (frame != 0) {
        require(device, "framesz", frame, needed);
    } else {
        frame = round_up(needed, packet_socket_unit);
        result += fmt::format(",framesz={}", frame);
    }
    // The driver takes frames to follow each other without gaps, the kernel wants whole pages.
    std::size_t block = number_or(device, "blocksz", 0);
    if (block == 0) {
        block = std::lcm(frame, page_bytes);
        result += fmt::format(",blocksz={}", block);
    }
    if (!device_option(device, "framecnt")) {
        const std::size_t frames =
            std::clamp<std::size_t>(packet_socket_ring_bytes / frame, 512, 4096);
        result +=
            fmt::format(",framecnt={}", round_up(frames, std::max(block / frame, std::size_t{1})));
    }
    return result;
}

std::string complete_memif(std::string_view device, std::size_t mtu) {
    // Frames in several buffers would be slower, and this driver mixes up their descriptors.
    const std::size_t needed = frame_bytes(mtu);
    if (device_option(device, "bsize")) {
        require(device, "bsize", number_or(device, "bsize", 0), needed);
        return std::string(device);
    }
    if (needed <= memif_buffer) return std::string(device);
    return fmt::format("{},bsize={}", device, std::min(round_up(needed, 64), memif_max_buffer));
}

}  // namespace

DriverTraits driver_traits(std::string_view driver) {
    return {
        .memory = is_any_of(driver, {"net_memif", "net_ring", "net_null"}),
        .kernel_interface = is_any_of(
            driver, {"net_af_packet", "net_af_xdp", "net_pcap", "eth_af_packet", "eth_af_xdp"}),
        .needs_gate = driver.starts_with("net_memif"),
    };
}

std::optional<std::string_view> device_option(std::string_view device, std::string_view key) {
    std::size_t comma = device.find(',');
    while (comma != std::string_view::npos) {
        device.remove_prefix(comma + 1);
        comma = device.find(',');
        const std::string_view pair = device.substr(0, comma);
        const std::size_t equals = pair.find('=');
        if (equals != std::string_view::npos && pair.substr(0, equals) == key) {
            return pair.substr(equals + 1);
        }
    }
    return std::nullopt;
}

std::string complete_device(std::string_view device, std::size_t mtu) {
    if (is_any_of(device, {"net_af_packet", "eth_af_packet"})) {
        return complete_packet_socket(device, mtu);
    }
    if (device.starts_with("net_memif")) return complete_memif(device, mtu);
    return std::string(device);
}

std::size_t receive_room(std::string_view device, std::size_t mtu) {
    return std::max({std::size_t{2048}, frame_bytes(mtu), number_or(device, "framesz", 0)});
}

}  // namespace sumwire::nic
