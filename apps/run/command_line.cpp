#include "apps/run/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "apps/support/polling_option.h"
#include "nic/fault/fault_options.h"
#include "nic/wire.h"

namespace sumwire::apps {
namespace {

constexpr std::string_view description =
    "Starts an aggregator and several workers on this machine.\n"
    "\n"
    "  sumwire-run [OPTIONS] --gradients DIRECTORY|FILES...\n"
    "      Each worker sums one file with the others; every result is checked against an\n"
    "      independent sum.\n"
    "  sumwire-run [OPTIONS] -- PROGRAM [ARGUMENTS...]\n"
    "      Runs the program once for each rank, with RANK, WORLD_SIZE, SUMWIRE_AGGREGATOR and\n"
    "      SUMWIRE_PORT set.\n";

// Room for the packets with which a rank joins.
constexpr unsigned least_mtu = 256;

// Options as they are written, and those of them that only make sense for gradient files.
struct Texts {
    std::vector<std::string> gradients;
    std::string transport = "udp";
    std::vector<std::string> codecs{"auto"};
    std::vector<std::string> arithmetics{"default"};
    std::string op = "sum";
    double deadline_seconds = 0;
    std::vector<CLI::Option*> for_gradients;
};

void declare(CLI::App& app, RunOptions& options, Texts& texts) {
    const auto for_gradients = [&](CLI::Option* option) {
        texts.for_gradients.push_back(option);
        return option;
    };
    app.add_option(
        "-g,--gradients", texts.gradients,
        "A directory with files like step040-worker0.npy.zst, or one .npy or .npy.zst file "
        "for each rank");
    app.add_option("-n,--workers", options.workers, "Ranks (default: one for each file; else 2)")
        ->check(CLI::Range(1U, unsigned{nic::max_world_size}));
    app.add_option(
           "--transport", texts.transport,
           "udp (loopback, no privileges), memif (DPDK, shared memory), veth (DPDK in network "
           "namespaces, as root), inproc (threads)")
        ->capture_default_str();
    for_gradients(
        app.add_option("--step", options.step, "Step of the directory (default: the last)"));
    for_gradients(app.add_option("--codec", texts.codecs,
                                 "auto, dense, packed, sketch, some of them, or all"))
        ->delimiter(',')
        ->capture_default_str();
    for_gradients(app.add_option("--arithmetic", texts.arithmetics,
                                 "exact, f32, fixed32, some of them, or all; default: fixed32 for "
                                 "sketch, exact for the others"))
        ->delimiter(',')
        ->capture_default_str();
    for_gradients(app.add_option("--op", texts.op, "sum, average, minimum or maximum"))
        ->capture_default_str();
    for_gradients(app.add_option("--iterations", options.iterations, "Sums, each of a fresh copy"))
        ->check(CLI::Range(1U, 1'000'000U))
        ->capture_default_str();
    app.add_option("--polling", options.polling,
                   "auto, spin, yield, sleep; for a program: the aggregator's")
        ->check(CLI::Validator(check_polling, "", "polling"))
        ->capture_default_str();
    for_gradients(app.add_option("--payload", options.payload_bytes,
                                 "Bytes of data in a packet, a multiple of 64 (default: as the MTU "
                                 "allows)"));
    app.add_option("--mtu", options.mtu, "MTU of the network between them")
        ->check(CLI::Range(least_mtu, 65535U));
    app.add_option("--faults", options.faults,
                   "Faults of the workers' ports, like loss=0.01,reorder=0.02,seed=7");
    for_gradients(app.add_option("--deadline", texts.deadline_seconds,
                                 "Seconds that joining, or one sum, may take (default: 30, 60)"));
    app.add_option("--aggregator", options.aggregator,
                   "HOST:PORT of an aggregator that runs already");
    app.add_flag("--embedded", options.embedded, "Rank 0 embeds the aggregator");
    app.add_flag("-v,--verbose", options.verbose, "Show what the aggregator says");
    for_gradients(app.add_option("--json", options.json_file, "Write the table there"));
    for_gradients(app.add_option("--output", options.output_directory,
                                 "Write each rank's sum there as .npy"));
}

void check_deadline(const Texts& texts, const CLI::App& app, RunOptions& options) {
    if (app["--deadline"]->count() == 0) return;
    constexpr double longest = 86'400;
    if (!(texts.deadline_seconds >= 0.001 && texts.deadline_seconds <= longest)) {
        throw UsageError(fmt::format("--deadline {}: give seconds from 0.001 to {}",
                                     texts.deadline_seconds, longest));
    }
    options.deadline =
        std::chrono::milliseconds(static_cast<std::int64_t>(texts.deadline_seconds * 1000));
}

void check_subject(const Texts& texts, const RunOptions& options) {
    if (options.gradients.empty() == options.program.empty()) {
        throw UsageError(
            options.program.empty()
                ? "nothing to run; give --gradients DIR, or -- PROGRAM and its arguments"
                : "either gradients or a program are run; leave one out");
    }
    if (options.program.empty()) return;
    for (const CLI::Option* option : texts.for_gradients) {
        if (option->count() != 0)
            throw UsageError(fmt::format(
                "{} is for --gradients; a program sets it in its own Options", option->get_name()));
    }
    if (options.transport == Transport::inproc) {
        throw UsageError(
            "--transport inproc runs ranks as threads of sumwire-run, which a program "
            "cannot be; choose udp, memif or veth");
    }
}

void check_aggregator(const RunOptions& options) {
    const bool elsewhere = options.embedded || !options.aggregator.empty();
    if (options.embedded && !options.aggregator.empty()) {
        throw UsageError("--embedded and --aggregator exclude each other; choose one");
    }
    if (!options.aggregator.empty() && options.transport == Transport::inproc) {
        throw UsageError(
            "--transport inproc embeds its aggregator; leave --aggregator out, or use "
            "--transport udp");
    }
    if (elsewhere &&
        (options.transport == Transport::memif || options.transport == Transport::veth)) {
        throw UsageError(fmt::format(
            "--transport {} starts its own aggregator; use --transport udp with {}",
            to_string(options.transport), options.embedded ? "--embedded" : "--aggregator"));
    }
}

RunOptions interpret(const Texts& texts, const CLI::App& app, RunOptions options) {
    options.gradients.assign(texts.gradients.begin(), texts.gradients.end());
    options.transport = parse_transport(texts.transport);
    if (!options.faults.empty()) nic::parse_faults(options.faults);
    options.op = parse_reduce_op(texts.op);
    if (options.payload_bytes % 64 != 0 || options.payload_bytes > 65472) {
        throw UsageError(
            fmt::format("--payload {}: give a multiple of 64 up to 65472", options.payload_bytes));
    }
    options.choices = choose_sums(texts.codecs, texts.arithmetics);
    check_deadline(texts, app, options);
    check_subject(texts, options);
    check_aggregator(options);
    return options;
}

}  // namespace

std::optional<RunOptions> parse_command_line(int argc, const char* const* argv) {
    const std::span all(argv, static_cast<std::size_t>(argc));
    const auto separator = std::ranges::find(all, std::string_view("--"));
    RunOptions options;
    Texts texts;
    if (separator != all.end()) options.program.assign(separator + 1, all.end());

    CLI::App app{std::string(description), "sumwire-run"};
    app.set_version_flag("--version", "sumwire-run " SUMWIRE_VERSION);
    declare(app, options, texts);
    try {
        app.parse(static_cast<int>(separator - all.begin()), argv);
        return interpret(texts, app, std::move(options));
    } catch (const CLI::Success& wanted) {
        app.exit(wanted);
        return std::nullopt;
    } catch (const CLI::ExtrasError& error) {
        throw UsageError(
            fmt::format("{}; put -- before a program; see sumwire-run --help", error.what()));
    } catch (const CLI::ParseError& error) {
        throw UsageError(fmt::format("{}; see sumwire-run --help", error.what()));
    } catch (const std::invalid_argument& error) {
        throw UsageError(error.what());
    }
}

}  // namespace sumwire::apps
