// What the drivers that Sumwire meets most need to be told, and what their frames go through. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sumwire::nic {

struct DriverTraits {
    // Frames never leave this machine's memory: nothing can damage them, and there is no MTU but
    // the one both ends agree on.
    bool memory = false;
    // The device is a kernel network interface whose packets DPDK shares: its MTU and address are
    // the kernel's, and frames from this machine's kernel may come with unfinished UDP checksums.
    bool kernel_interface = false;
    // Its peer's coming and going is handled on DPDK's interrupt thread: see InterruptGate.
    bool needs_gate = false;
};

// By DPDK's name of the driver ("net_memif") or of a virtual device ("net_memif0").
DriverTraits driver_traits(std::string_view driver);

// Value of `key` in "net_af_packet0,iface=eth0"; empty if it is not there.
std::optional<std::string_view> device_option(std::string_view device, std::string_view key);

// Adds what the driver needs for frames of that MTU and the user left open: frame and buffer sizes.
// Throws SetupError if what the user gave is too small.
std::string complete_device(std::string_view device, std::size_t mtu);

// Bytes that receive buffers need behind the headroom, for a device completed as above.
std::size_t receive_room(std::string_view device, std::size_t mtu);

}  // namespace sumwire::nic
