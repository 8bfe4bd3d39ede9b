// What DPDK's environment (EAL) is started with. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sumwire::nic {

// The machine, as far as the arguments depend on it.
struct EalMachine {
    std::string cpus;                       // that this process may run on: "0-3,8"
    std::uint64_t free_hugepage_bytes = 0;  // in whole pages
};

struct EalCommandLine {
    std::vector<std::string> arguments;  // with the program's name first
    std::string note;                    // for the user; empty: nothing to say
};

// Hugepages are used if at least this much is free.
inline constexpr std::uint64_t enough_hugepage_bytes = 128U << 20;

// A guest's arguments: one lcore that may run wherever the process may, no telemetry, nothing
// shared with other processes, no PCI bus unless `pci_device` ("0000:3b:00.0,option=…") is given.
// What the user says in `extra` takes the place of what would be said here. Throws SetupError if
// `extra` would end the process or print instead of starting (help texts).
EalCommandLine eal_command_line(const EalMachine& machine,
                                const std::optional<std::string>& pci_device,
                                std::span<const std::string> extra);

// "0000:3b:00.0", "3b:00.0" or "pci:…", options included: a device on the PCI bus.
bool is_pci_device(std::string_view device);

// Splits at, and joins with, blanks.
std::vector<std::string> split_arguments(std::string_view text);
std::string join_arguments(std::span<const std::string> arguments);

}  // namespace sumwire::nic
