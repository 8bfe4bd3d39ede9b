// DPDK's environment (EAL), started once per process, as a guest of the host program.
//
// Starting it leaves the caller's CPU affinity, signal mask and standard streams alone, installs no
// signal handler and never ends the process. Processes on one machine share nothing. The
// environment stays until the process ends; it does not survive fork(): open ports after forking.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nic/dpdk/eal_output.h"

namespace sumwire::nic {

// Arguments for the environment, as DPDK programs take them before "--": given by the program,
// before its first DPDK port. Throws SetupError if the environment runs already.
void set_eal_arguments(std::vector<std::string> arguments);

// Called for each line that DPDK logs, from any thread, one at a time; must not open or close
// ports. Default: nothing is logged (errors still quote DPDK).
void set_eal_log(EalLog log);

// Starts the environment unless it runs. `arguments` add to set_eal_arguments and count only at the
// first call; different ones later are an error, as is a PCI device where the bus was left out.
// Throws SetupError; a failure is final for the process, and told again each time.
// Thread-safe.
void start_eal(const std::vector<std::string>& arguments,
               const std::optional<std::string>& pci_device);

// What the user may want to know about how the environment runs; empty: nothing, or not started.
std::string eal_note();

// Gives the calling thread an identity in DPDK, so that it has packet caches of its own, until the
// thread ends. Cheap after the first call. Only after start_eal.
void register_eal_thread();

}  // namespace sumwire::nic
