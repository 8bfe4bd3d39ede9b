#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "apps/bench/aggregator_core.h"
#include "apps/bench/aggregator_port.h"
#include "apps/bench/commands.h"
#include "apps/bench/table.h"
#include "apps/support/json_file.h"
#include "apps/support/polling_option.h"
#include "apps/support/progress.h"
#include "switch_emu/limits.h"

namespace sumwire::apps {
namespace {

// Of an aggregator unless told otherwise.
constexpr std::size_t largest_payload = aggregator::Limits{}.payload_bytes;

struct Settings {
    unsigned workers = 4;
    std::vector<std::size_t> payloads{1024, largest_payload};
    std::vector<std::string> ops{"or", "add_i32", "max_u8", "add_f32"};
    std::vector<std::string> ports{"inproc", "udp"};
    std::vector<unsigned> windows{1, 64};
    std::string polling = "auto";
    double seconds = 0.5;
    bool core_only = false;
    std::string json;
    bool progress = false;
};

bool run_core(const Settings& settings, Progress& progress, JsonFile& json) {
    print_banner(
        {"Aggregator core: state machine on one core, packets in memory, NO PORT, NO NETWORK",
         fmt::format("{} synthetic workers; 'plain' is a bare loop over the same bytes; rates "
                     "count payload",
                     settings.workers)});
    const Table table({{"op", 8, true},
                       {"payload(B)"},
                       {"Mpackets/s", 11},
                       {"Gbit/s", 8},
                       {"cycles/packet"},
                       {"plain(Gbit/s)"},
                       {"of plain"},
                       {"exact"}});
    table.print_head();
    bool exact = true;
    for (const auto& op : settings.ops) {
        for (const auto payload : settings.payloads) {
            progress.show(fmt::format("core: {}, payload {}", op, payload));
            const auto result = measure_aggregator_core(
                {.workers = settings.workers, .payload_bytes = payload, .op = parse_op(op)},
                settings.seconds);
            const auto ratio = result.payload_gbit_s / result.plain_gbit_s;
            progress.clear();
            table.print_row({op, fmt::format("{}", payload),
                             fmt::format("{:.3f}", result.packets_per_s * 1e-6),
                             fmt::format("{:.1f}", result.payload_gbit_s),
                             fmt::format("{:.0f}", result.cycles_per_packet),
                             fmt::format("{:.1f}", result.plain_gbit_s),
                             fmt::format("{:.2f}", ratio), result.exact ? "yes" : "NO"});
            json.add({{"mode", "core"},
                      {"op", op},
                      {"workers", settings.workers},
                      {"payload", payload},
                      {"packets", result.packets},
                      {"packets_per_s", result.packets_per_s},
                      {"payload_gbit_s", result.payload_gbit_s},
                      {"cycles_per_packet", result.cycles_per_packet},
                      {"plain_gbit_s", result.plain_gbit_s},
                      {"ratio_to_plain", ratio},
                      {"exact", result.exact}});
            exact &= result.exact;
        }
    }
    return exact;
}

bool run_port(const Settings& settings, LoadPort port, Progress& progress, JsonFile& json) {
    fmt::print("\n");
    print_banner(
        {fmt::format("Aggregator over {}: {}", to_string(port), describe(port)),
         fmt::format(
             "{} synthetic workers and the aggregator: {} threads on {} cores; window: packets "
             "under way per worker",
             settings.workers, settings.workers + 1, std::thread::hardware_concurrency())});
    const Table table({{"op", 8, true},
                       {"payload(B)"},
                       {"window"},
                       {"kpackets/s", 11},
                       {"Gbit/s", 8},
                       {"cycles/packet"},
                       {"p50(us)", 9},
                       {"p99(us)", 9},
                       {"p99.9(us)", 9},
                       {"resent"},
                       {"exact"}});
    table.print_head();
    // For all rows: a device is set up once.
    const LoadNetwork network(port, settings.workers);
    bool exact = true;
    for (const auto payload : settings.payloads) {
        for (const auto window : settings.windows) {
            progress.show(
                fmt::format("{}: payload {}, window {}", to_string(port), payload, window));
            const auto result = measure_aggregator_port(
                network, {.workers = settings.workers, .slots = window, .payload_bytes = payload},
                nic::parse_polling(settings.polling), settings.seconds);
            progress.clear();
            table.print_row({"add_i32", fmt::format("{}", payload), fmt::format("{}", window),
                             fmt::format("{:.1f}", result.packets_per_s * 1e-3),
                             fmt::format("{:.2f}", result.payload_gbit_s),
                             fmt::format("{:.0f}", result.cycles_per_packet),
                             fmt::format("{:.1f}", result.latency_p50_us),
                             fmt::format("{:.1f}", result.latency_p99_us),
                             fmt::format("{:.1f}", result.latency_p999_us),
                             fmt::format("{}", result.retransmissions),
                             result.exact ? "yes" : "NO"});
            json.add({{"mode", "port"},
                      {"port", to_string(port)},
                      {"op", "add_i32"},
                      {"workers", settings.workers},
                      {"payload", payload},
                      {"window", window},
                      {"packets_per_s", result.packets_per_s},
                      {"payload_gbit_s", result.payload_gbit_s},
                      {"cycles_per_packet", result.cycles_per_packet},
                      {"latency_p50_us", result.latency_p50_us},
                      {"latency_p99_us", result.latency_p99_us},
                      {"latency_p999_us", result.latency_p999_us},
                      {"retransmissions", result.retransmissions},
                      {"exact", result.exact}});
            exact &= result.exact;
        }
    }
    return exact;
}

bool run(const Settings& settings) {
    std::vector<LoadPort> ports;
    if (!settings.core_only)
        for (const auto& port : settings.ports)
            ports.push_back(parse_load_port(port));
    JsonFile json(settings.json);
    Progress progress(settings.progress);
    bool exact = run_core(settings, progress, json);
    for (const auto port : ports)
        exact &= run_port(settings, port, progress, json);
    json.save();
    return exact;
}

std::string check_payload(const std::string& text) {
    std::size_t bytes = 0;
    return CLI::detail::lexical_cast(text, bytes) && bytes > 0 && bytes % 64 == 0 &&
                   bytes <= largest_payload
               ? ""
               : fmt::format("{} is no multiple of 64 from 64 to {}", text, largest_payload);
}

std::string check_window(const std::string& text) {
    unsigned window = 0;
    return CLI::detail::lexical_cast(text, window) && std::has_single_bit(window) && window <= 1024
               ? ""
               : fmt::format("{} is no power of two from 1 to 1024", text);
}

}  // namespace

void add_aggregator_command(CLI::App& app, int& exit_code) {
    auto settings = std::make_shared<Settings>();
    auto* command = app.add_subcommand("aggregator", "Aggregator: its core alone, and over ports");
    command->add_option("--workers", settings->workers, "Synthetic workers")
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    command
        ->add_option("--payload", settings->payloads, "Payload bytes of a packet; several allowed")
        ->check(CLI::Validator(check_payload, "multiple of 64"))
        ->delimiter(',')
        ->capture_default_str();
    command
        ->add_option("--op", settings->ops,
                     fmt::format("Operations of the core: {}", fmt::join(all_op_names(), ", ")))
        ->check(CLI::IsMember(all_op_names()))
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--port", settings->ports, "Ports to run over: inproc, udp, memif")
        ->check(CLI::IsMember({"inproc", "udp", "memif"}))
        ->delimiter(',')
        ->capture_default_str();
    command
        ->add_option("--window", settings->windows, "Packets under way per worker; powers of two")
        ->check(CLI::Validator(check_window, "power of two"))
        ->delimiter(',')
        ->capture_default_str();
    command->add_option("--polling", settings->polling, "auto, spin, yield or sleep")
        ->check(CLI::Validator(check_polling, "", "polling"))
        ->capture_default_str();
    command->add_option("--seconds", settings->seconds, "Time to measure each row for")
        ->check(CLI::Range(0.01, 3600.0))
        ->capture_default_str();
    command->add_flag("--core-only", settings->core_only, "Leave the ports out");
    command->add_option("--json", settings->json, "Write the rows to this file");
    command->add_flag("--progress", settings->progress,
                      "Progress on standard error, terminal or not");
    command->callback([settings, &exit_code] { exit_code = run(*settings) ? 0 : 1; });
}

}  // namespace sumwire::apps
