// A network interface as the kernel has it configured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sumwire::nic {

struct KernelInterface {
    std::size_t mtu = 0;
    std::optional<std::uint32_t> address;  // its first IPv4 address, host byte order
};

// In the network namespace of the calling thread; empty if there is none of that name.
std::optional<KernelInterface> read_kernel_interface(const std::string& name);

}  // namespace sumwire::nic
