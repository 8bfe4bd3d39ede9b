#include "runtime/communicator/resolved_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string_view>

#include "nic/control.h"
#include "nic/wire.h"
#include "runtime/communicator/launch_environment.h"

namespace sumwire::runtime {

namespace {

using Get = std::function<const char*(const char*)>;

std::string first_of(const std::string& option, const Get& get, const char* variable,
                     const char* otherwise) {
    if (!option.empty()) return option;
    const char* value = get(variable);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

void resolve_rank(Options& options, const LaunchEnvironment& environment) {
    if (options.rank < 0) {
        if (!environment.rank) {
            throw SetupError(
                "the rank is unknown: set Options::rank, or start the program with torchrun, "
                "mpirun or srun, or set RANK and WORLD_SIZE");
        }
        options.rank = *environment.rank;
    }
    if (options.world_size < 0) {
        if (!environment.world_size) {
            throw SetupError(
                "the world size is unknown: set Options::world_size, or start the program with "
                "torchrun, mpirun or srun, or set RANK and WORLD_SIZE");
        }
        options.world_size = *environment.world_size;
    }
    if (options.world_size < 1 || options.world_size > nic::max_world_size) {
        throw SetupError(fmt::format("the world size is {}, but must be from 1 to {}",
                                     options.world_size, nic::max_world_size));
    }
    if (options.rank >= options.world_size) {
        throw SetupError(fmt::format("rank {} is not below the world size {}; ranks count from 0",
                                     options.rank, options.world_size));
    }
}

// On the wire it is a number of milliseconds in 32 bits; more than a day notices nobody's loss.
constexpr std::chrono::milliseconds longest_peer_timeout = std::chrono::hours(24);

void check_times(const Options& options) {
    const auto positive = [](const char* name, std::chrono::milliseconds value) {
        if (value.count() <= 0) throw SetupError(fmt::format("{} must be above 0 ms", name));
    };
    positive("join_timeout", options.join_timeout);
    positive("deadline", options.deadline);
    positive("peer_timeout", options.peer_timeout);
    if (options.peer_timeout > longest_peer_timeout) {
        throw SetupError(fmt::format(
            "peer_timeout is {} ms, but must not be above {} ms: choose how long a rank may be "
            "silent before the others give it up",
            options.peer_timeout.count(), longest_peer_timeout.count()));
    }
}

void check_choices(const Options& options) {
    const auto unknown = [](const char* name, int value, const char* choices) {
        throw SetupError(fmt::format("{} {} is unknown: use {}", name, value, choices));
    };
    if (options.codec > Codec::automatic) {
        unknown("codec", static_cast<int>(options.codec),
                "Codec::automatic, dense, packed or sketch");
    }
    if (options.arithmetic > Arithmetic::fixed32) {
        unknown("arithmetic", static_cast<int>(options.arithmetic),
                "Arithmetic::exact, f32 or fixed32");
    }
    if (options.polling > Polling::sleep) {
        unknown("polling", static_cast<int>(options.polling),
                "Polling::automatic, spin, yield or sleep");
    }
    if (options.codec == Codec::sketch && options.arithmetic == Arithmetic::f32) {
        throw SetupError(
            "the sketch codec needs integers: choose Arithmetic::exact or fixed32, or another "
            "codec with Arithmetic::f32");
    }
}

void check_numbers(const Options& options) {
    if (options.payload_bytes % 64 != 0 || options.payload_bytes > 65472) {
        throw SetupError(fmt::format(
            "payload_bytes is {}, but must be 0 (automatic) or a multiple of 64 up to 65472",
            options.payload_bytes));
    }
    if (!std::has_single_bit(options.slots) || options.slots < 8 ||
        options.slots > nic::max_slots) {
        throw SetupError(fmt::format("slots is {}, but must be a power of two from 8 to {}",
                                     options.slots, nic::max_slots));
    }
    if (std::ranges::any_of(options.job, [](unsigned char c) { return c < 0x20 || c == 0x7f; })) {
        throw SetupError(
            "the job name holds control characters; choose a name that can be printed");
    }
    if (options.job.size() > nic::max_job_name) {
        throw SetupError(fmt::format("the job name '{}' has more than {} bytes; shorten it",
                                     options.job, nic::max_job_name));
    }
}

nic::Polling convert(Polling polling) {
    switch (polling) {
        case Polling::spin:
            return nic::Polling::spin;
        case Polling::yield:
            return nic::Polling::yield;
        case Polling::sleep:
            return nic::Polling::sleep;
        case Polling::automatic:
            break;
    }
    return nic::Polling::automatic;
}

// The options of a port's text ("KIND:TARGET;name=value;...") that a port on the same network needs
// as well. Not its faults, which are one port's own.
std::string shared_options(std::string_view options, bool bind) {
    std::string shared;
    while (!options.empty()) {
        const auto end = std::min(options.find(';'), options.size());
        std::string_view option = options.substr(0, end);
        options.remove_prefix(std::min(end + 1, options.size()));
        if (option.starts_with("bind=")) {
            // Of ADDRESS:PORT the address alone: the port is the worker's.
            option = option.substr(0, option.find(':'));
            if (!bind) continue;
        } else if (!option.starts_with("mtu=") && !option.starts_with("offload=")) {
            continue;
        }
        shared.append(";").append(option);
    }
    return shared;
}

bool is_loopback(std::string_view address) {
    return address.empty() || address == "localhost" || address.starts_with("127.");
}

// The port on which an embedded aggregator reaches workers that use `worker_port` and look for it
// at `master_address`.
std::string embedded_port(std::string_view worker_port, std::string_view master_address) {
    constexpr std::string_view udp = "udp";
    constexpr std::string_view in_process = "inproc:";
    if (worker_port.starts_with(udp)) {
        std::string_view options = worker_port.substr(udp.size());
        if (options.starts_with(':') || options.starts_with(';')) options.remove_prefix(1);
        // Nobody can come from elsewhere then, and nobody should.
        if (is_loopback(master_address)) {
            const bool numeric = master_address.starts_with("127.");
            return fmt::format("udp:bind={}{}", numeric ? master_address : "127.0.0.1",
                               shared_options(options, false));
        }
        std::string shared = shared_options(options, true);
        return shared.empty() ? "udp" : "udp:" + shared.substr(1);
    }
    if (worker_port.starts_with(in_process)) {
        const auto end = std::min(worker_port.find(';'), worker_port.size());
        return fmt::format("{};ip=127.0.0.1{}", worker_port.substr(0, end),
                           shared_options(worker_port.substr(end), false));
    }
    throw SetupError(fmt::format(
        "no aggregator's address was given, and rank 0 cannot embed one on the port '{}'; start "
        "sumwire-aggregator and set Options::aggregator or SUMWIRE_AGGREGATOR to its address, or "
        "use the port 'udp'",
        worker_port));
}

nic::Endpoint aggregator_endpoint(const std::string& text, std::uint16_t port) {
    try {
        return nic::parse_endpoint(text, port);
    } catch (const std::invalid_argument& error) {
        throw SetupError(fmt::format("the aggregator's address: {}", error.what()));
    }
}

}  // namespace

ResolvedOptions resolve(const Options& given, const Get& get) {
    const LaunchEnvironment environment = read_launch_environment(get);
    ResolvedOptions resolved;
    Options& options = resolved.options;
    options = given;
    resolve_rank(options, environment);
    options.job = first_of(options.job, get, "SUMWIRE_JOB", "default");
    options.port = first_of(options.port, get, "SUMWIRE_PORT", "udp");
    options.aggregator = first_of(options.aggregator, get, "SUMWIRE_AGGREGATOR", "");
    options.float_sums |= options.arithmetic == Arithmetic::f32;
    check_numbers(options);
    check_times(options);
    check_choices(options);

    resolved.polling = convert(options.polling);
    resolved.pollers =
        static_cast<unsigned>(environment.local_world_size.value_or(options.world_size)) + 1;

    if (!options.aggregator.empty()) {
        resolved.aggregator = aggregator_endpoint(options.aggregator, nic::default_udp_port);
        return resolved;
    }
    const auto udp_port =
        static_cast<std::uint16_t>(environment.master_port.value_or(nic::default_udp_port));
    const std::string embed_on = embedded_port(options.port, environment.master_address);
    resolved.aggregator = aggregator_endpoint(
        environment.master_address.empty() ? "127.0.0.1" : environment.master_address, udp_port);
    resolved.aggregator.port = udp_port;
    if (options.port.starts_with("inproc:")) resolved.aggregator.address = 0x7f000001;
    if (options.rank == 0) {
        resolved.embed = EmbeddedAggregatorConfig{.port = embed_on,
                                                  .udp_port = udp_port,
                                                  .polling = resolved.polling,
                                                  .pollers = resolved.pollers,
                                                  .linger = options.peer_timeout};
    }
    return resolved;
}

}  // namespace sumwire::runtime
