#include "apps/aggregator/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <iostream>
#include <span>
#include <string_view>

#include "apps/support/polling_option.h"
#include "nic/control.h"
#include "nic/endpoint.h"
#include "nic/wire.h"

namespace sumwire::apps {
namespace {

// What --polling auto assumes on this machine: a job of four workers, and this process.
constexpr unsigned usual_pollers = 5;

std::string power_of_two(const std::string& text) {
    std::uint32_t slots = 0;
    if (CLI::detail::lexical_cast(text, slots) && std::has_single_bit(slots) &&
        slots >= nic::min_slots && slots <= nic::max_slots) {
        return {};
    }
    return fmt::format("{} must be a power of two from {} to {}", text, nic::min_slots,
                       nic::max_slots);
}

std::string multiple_of_64(const std::string& text) {
    std::uint32_t bytes = 0;
    if (CLI::detail::lexical_cast(text, bytes) && bytes != 0 && bytes % 64 == 0 &&
        bytes <= UINT16_MAX) {
        return {};
    }
    return fmt::format("{} must be a multiple of 64 from 64 to 65472", text);
}

// These ports end where this process does.
void check_reachable(std::string_view port) {
    for (const std::string_view kind : {"inproc:", "dpdk:net_ring", "dpdk:net_null"}) {
        if (port.starts_with(kind))
            throw UsageError(fmt::format(
                "--port {}: no other process can reach it; use udp or another DPDK device, or let "
                "rank 0 embed the aggregator",
                port));
    }
}

}  // namespace

std::optional<AggregatorOptions> parse_aggregator_options(int argc, const char* const* argv) {
    const std::span all(argv, static_cast<std::size_t>(argc));
    const auto separator = std::ranges::find(all, std::string_view("--"));
    const auto ours = static_cast<int>(separator - all.begin());

    AggregatorOptions options;
    std::vector<std::string> ports;
    std::string polling = "auto";
    std::size_t memory_mib = options.limits.memory_bytes >> 20U;
    options.udp_port = nic::default_udp_port;
    options.pollers = usual_pollers;

    CLI::App app(
        "Sums the gradients of training jobs in software, in place of a programmable switch.\n"
        "Runs until SIGINT or SIGTERM. Arguments after -- go to DPDK's environment.",
        "sumwire-aggregator");
    app.set_version_flag("--version", "sumwire-aggregator " SUMWIRE_VERSION);
    app.add_option("--port", ports,
                   "Where workers reach it: udp[:bind=A.B.C.D[:PORT]], or dpdk:DEVICE;ip=A.B.C.D. "
                   "Repeat it for several links (default: udp)")
        ->allow_extra_args(false);
    app.add_option("--listen", options.udp_port, "UDP port; 0 takes a free one")
        ->check(CLI::Range(0, UINT16_MAX))
        ->capture_default_str();
    app.add_option("--jobs", options.limits.jobs, "Most jobs at once")
        ->check(CLI::Range(1, UINT16_MAX))
        ->capture_default_str();
    app.add_option("--slots", options.limits.slots_per_job, "Most slots of a job, a power of two")
        ->check(CLI::Validator(power_of_two, "", "slots"))
        ->capture_default_str();
    app.add_option("--payload", options.limits.payload_bytes,
                   "Most bytes of data in a packet, a multiple of 64; less where the MTU is small")
        ->check(CLI::Validator(multiple_of_64, "", "payload"))
        ->capture_default_str();
    app.add_option("--memory", memory_mib, "Most MiB of slot memory, all jobs together")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    app.add_option("--polling", polling, "auto, spin, yield or sleep")
        ->check(CLI::Validator(check_polling, "", "polling"))
        ->capture_default_str();
    app.add_option("--pollers", options.pollers,
                   "Polling threads on this machine, workers included, for --polling auto")
        ->check(CLI::Range(1, 1 << 16))
        ->capture_default_str();
    app.add_option("--json", options.json_file, "Write statistics there at the end");
    app.add_option("--ready-file", options.ready_file,
                   "Write the address there once workers can join");
    app.add_flag("--exit-when-idle", options.exit_when_idle,
                 "End once no job is left and one has run: ranks that wait for others that never "
                 "come are none");
    try {
        app.parse(ours, argv);
    } catch (const CLI::Success& wanted) {
        app.exit(wanted);
        return std::nullopt;
    } catch (const CLI::ParseError& error) {
        throw UsageError(fmt::format("{}; see sumwire-aggregator --help", error.what()));
    }

    options.polling = nic::parse_polling(polling);
    options.limits.memory_bytes = memory_mib << 20U;
    options.port = ports.empty() ? "udp" : fmt::format("{}", fmt::join(ports, " + "));
    if (separator != all.end()) options.eal_arguments.assign(separator + 1, all.end());
    for (const auto& port : ports)
        check_reachable(port);
    const bool uses_dpdk = options.port.find("dpdk:") != std::string::npos;
    if (!options.eal_arguments.empty() && !uses_dpdk) {
        throw UsageError(
            "arguments after -- are for DPDK, but no --port is dpdk:...; add one, or "
            "leave them out");
    }
    return options;
}

}  // namespace sumwire::apps
