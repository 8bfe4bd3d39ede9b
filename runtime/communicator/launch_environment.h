// Rank and world size as the program's launcher left them in the environment.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace sumwire::runtime {

struct LaunchEnvironment {
    std::optional<int> rank;
    std::optional<int> world_size;
    std::optional<int> local_world_size;  // ranks on this host
    std::string master_address;           // empty if unset
    std::optional<int> master_port;
};

// Knows torchrun's variables, then Open MPI's, then Slurm's; the first launcher that set both rank
// and world size counts. `get` is getenv or a test's. Throws SetupError that names a variable whose
// value is no number in range.
LaunchEnvironment read_launch_environment(const std::function<const char*(const char*)>& get);

}  // namespace sumwire::runtime
