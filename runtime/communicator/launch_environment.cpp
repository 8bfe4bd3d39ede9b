#include "runtime/communicator/launch_environment.h"

#include <fmt/core.h>

#include <charconv>
#include <limits>
#include <string_view>

#include "sumwire/errors.h"

namespace sumwire::runtime {

namespace {

struct Launcher {
    const char* rank;
    const char* world_size;
    const char* local_world_size;
};

constexpr Launcher launchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_TASKS_PER_NODE"},
};

std::optional<int> read_number(const std::function<const char*(const char*)>& get, const char* name,
                               int low, int high) {
    const char* value = get(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    const std::string_view text(value);
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    // Slurm writes "4(x2)": four tasks on each of two nodes.
    const bool whole = end == text.data() + text.size() || *end == '(' || *end == ',';
    if (error != std::errc() || !whole || number < low || number > high) {
        throw SetupError(fmt::format("{}='{}' is no number from {} to {}; correct or unset it",
                                     name, text, low, high));
    }
    return number;
}

}  // namespace

LaunchEnvironment read_launch_environment(const std::function<const char*(const char*)>& get) {
    constexpr int largest = std::numeric_limits<int>::max();
    LaunchEnvironment environment;
    for (const Launcher& launcher : launchers) {
        const auto rank = read_number(get, launcher.rank, 0, largest);
        const auto world_size = read_number(get, launcher.world_size, 1, largest);
        if (!rank || !world_size) continue;
        environment.rank = rank;
        environment.world_size = world_size;
        environment.local_world_size = read_number(get, launcher.local_world_size, 1, largest);
        break;
    }
    if (const char* address = get("MASTER_ADDR")) environment.master_address = address;
    environment.master_port = read_number(get, "MASTER_PORT", 1, 65535);
    return environment;
}

}  // namespace sumwire::runtime
