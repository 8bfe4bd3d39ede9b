// sumwire-aggregator: the aggregator as a process of its own.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

#include "apps/aggregator/options.h"
#include "apps/aggregator/report.h"
#include "apps/aggregator/stop_signals.h"
#include "nic/dpdk/eal.h"
#include "nic/port_spec.h"
#include "switch_emu/aggregator_loop.h"

namespace sumwire::apps {
namespace {

// Appears complete or not at all: scripts wait for it, then read it.
void announce(const std::string& file, const nic::Endpoint& address) {
    const std::string unfinished = file + ".part";
    std::ofstream out(unfinished);
    out << nic::to_string(address) << '\n';
    out.close();
    std::error_code error;
    if (out) std::filesystem::rename(unfinished, file, error);
    if (!out || error) {
        throw std::runtime_error(
            fmt::format("cannot write {}: choose a writable place for --ready-file", file));
    }
}

// Now rather than after days of service.
void check_writable(const std::string& file) {
    if (!std::ofstream(file, std::ios::app)) {
        throw std::runtime_error(
            fmt::format("cannot write {}: choose a writable place for --json", file));
    }
}

void serve(const AggregatorOptions& options) {
    if (!options.json_file.empty()) check_writable(options.json_file);
    // A file from an earlier run would announce what is not there yet.
    std::error_code ignored;
    if (!options.ready_file.empty()) std::filesystem::remove(options.ready_file, ignored);

    const StopSignals signals;
    Report report;
    if (!options.eal_arguments.empty()) nic::set_eal_arguments(options.eal_arguments);
    const auto port =
        nic::open_port(options.port, {.udp_port = options.udp_port, .peer = std::nullopt});
    aggregator::AggregatorLoop loop(
        *port, {.limits = options.limits,
                .polling = options.polling,
                .pollers = options.pollers,
                .finish_after_last_job = options.exit_when_idle,
                .observer = [&](const aggregator::JobEvent& event) { report.on_event(event); }});
    report.banner(port->info(), loop.limits());
    if (const std::string note = nic::eal_note(); !note.empty()) spdlog::info("{}", note);
    if (!options.ready_file.empty()) announce(options.ready_file, port->info().local);

    loop.run(signals.token());
    if (signals.token().stop_requested()) {
        spdlog::info("stopped by SIG{}", sigabbrev_np(signals.received()));
    } else {
        spdlog::info("the last job has ended");
    }
    const aggregator::LoopStatistics statistics = loop.statistics();
    report.table(statistics);
    if (!options.json_file.empty()) {
        report.write_json(options.json_file, port->info(), statistics);
    }
}

}  // namespace
}  // namespace sumwire::apps

int main(int argc, char** argv) {
    using namespace sumwire;
    try {
        const auto options = apps::parse_aggregator_options(argc, argv);
        if (options.has_value()) apps::serve(*options);
        return 0;
    } catch (const apps::UsageError& error) {
        fmt::print(stderr, "sumwire-aggregator: {}\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        fmt::print(stderr, "sumwire-aggregator: {}\n", error.what());
        return 1;
    }
}
