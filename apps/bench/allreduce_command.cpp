#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "apps/bench/commands.h"
#include "apps/bench/gradient_set.h"
#include "apps/bench/size_option.h"
#include "apps/bench/table.h"
#include "apps/support/json_file.h"
#include "apps/support/polling_option.h"
#include "apps/support/progress.h"
#include "apps/support/references.h"
#include "apps/support/statistics.h"
#include "apps/support/sum_rows.h"
#include "apps/support/sum_session.h"

namespace sumwire::apps {
namespace {

constexpr std::size_t largest_size = std::size_t{4} << 30U;

struct Settings {
    std::vector<std::filesystem::path> gradients;
    std::string smallest = "1K";
    std::string largest = "64M";
    std::size_t factor = 4;
    double density = 0.05;
    std::string shape = "uniform";
    unsigned workers = 4;
    std::string port = "udp";
    std::vector<std::string> codecs{"all"};
    std::vector<std::string> arithmetics{"default"};
    unsigned iterations = 10;
    unsigned warmup = 2;
    std::string polling = "auto";
    std::size_t payload = 0;
    std::string json;
    bool progress = false;
};

std::vector<GradientSource> synthetic_sources(const Settings& settings) {
    const auto smallest = parse_size(settings.smallest);
    const auto largest = parse_size(settings.largest);
    if (smallest > largest || smallest % sizeof(float) != 0 || largest > largest_size)
        throw std::invalid_argument(
            fmt::format("--min {} --max {}: name multiples of 4 bytes, the smaller one first, the "
                        "larger one at most 4G",
                        settings.smallest, settings.largest));
    std::vector<GradientSource> sources;
    for (auto size = smallest; size <= largest; size *= settings.factor) {
        const SyntheticSpec spec{.elements = size / sizeof(float),
                                 .density = settings.density,
                                 .shape = parse_shape(settings.shape)};
        sources.emplace_back(
            [spec, workers = settings.workers] { return make_synthetic_set(spec, workers); });
    }
    return sources;
}

std::string emulation(Transport transport) {
    switch (transport) {
        case Transport::inproc:
            return "memory of one process, ranks are threads, NO NETWORK";
        case Transport::udp:
            return "kernel UDP sockets on loopback, NO NETWORK";
        case Transport::memif:
            return "DPDK memif, shared memory, NO NETWORK";
        case Transport::veth:
            return "DPDK af_packet on veth between namespaces, EMULATED NETWORK in one kernel";
    }
    return {};
}

Table allreduce_table() {
    return Table({{"set", 16, true},
                  {"codec", 6, true},
                  {"arith", 7, true},
                  {"size(B)", 10},
                  {"count(elements)"},
                  {"type"},
                  {"redop"},
                  {"time(us)", 10},
                  {"algbw(GB/s)"},
                  {"busbw(GB/s)"},
                  {"#wrong"},
                  {"first(us)", 10},
                  {"tx(B)", 10},
                  {"of size"},
                  {"rx(B)", 10},
                  {"of size"},
                  {"stalls"},
                  {"resent"},
                  {"exact"}});
}

void print_row(const Table& table, const SumSubject& subject, const SumRow& row) {
    const double size = subject.dense_bytes();
    const double time = median(row.seconds);
    const double algorithm = size * 1e-9 / time;
    const auto workers = static_cast<double>(subject.workers);
    table.print_row(
        {fmt::format("{}/{}", subject.model, subject.step), std::string(name_of(row.choice.codec)),
         std::string(name_of(row.choice.arithmetic)), fmt::format("{:.0f}", size),
         fmt::format("{}", subject.elements), "float", std::string(name_of(subject.op)),
         fmt::format("{:.1f}", time * 1e6), fmt::format("{:.3f}", algorithm),
         fmt::format("{:.3f}", algorithm * 2 * (workers - 1) / workers),
         fmt::format("{}", row.wrong), fmt::format("{:.1f}", row.first_seconds * 1e6),
         fmt::format("{:.0f}", row.wire_bytes_tx), fmt::format("{:.3f}", row.wire_bytes_tx / size),
         fmt::format("{:.0f}", row.wire_bytes_rx), fmt::format("{:.3f}", row.wire_bytes_rx / size),
         fmt::format("{}", row.stalled_chunks), fmt::format("{}", row.retransmissions),
         row.right() ? "yes" : "NO"});
}

// Whether all of its sums were right.
bool run_set(const GradientSet& set, const RankTask& task, const Settings& settings,
             const Table& table, Progress& progress, JsonFile& json) {
    const SumSubject subject{.model = set.model,
                             .step = set.step,
                             .transport = settings.port,
                             .workers = set.ranks.size(),
                             .elements = set.elements(),
                             .op = task.op};
    SumRows rows(task.choices, set.ranks.size(), [&](const SumRow& row) {
        progress.clear();
        print_row(table, subject, row);
        for (const auto& complaint : row.complaints)
            fmt::print(stderr, "sumwire-bench: {}\n", complaint);
        json.add(to_json(subject, row));
    });
    progress.show(fmt::format("{}: reference sums", set.name()));
    References references(set.ranks, task.op);
    std::vector<ExpectedSums> expected;
    for (const auto& choice : task.choices)
        expected.push_back(references.of(choice.arithmetic));
    const LaunchResult result = run_session(
        set.ranks, task, expected, {.transport = parse_transport(settings.port)},
        {.progress =
             [&](auto text) {
                 progress.show(fmt::format("{} over {}: {}", set.name(), settings.port, text));
             },
         .report = [&](auto rank, auto choice,
                       const auto& report) { rows.add(rank, choice, report); }});
    // The first failure is the cause, the others follow from it.
    if (!result.failures.empty()) throw std::runtime_error(result.failures.front());
    if (!result.ok()) throw std::runtime_error("interrupted");
    return rows.all_right();
}

bool run(const Settings& settings, bool workers_given) {
    const RankTask task{.choices = choose_sums(settings.codecs, settings.arithmetics),
                        .warmup = settings.warmup,
                        .iterations = settings.iterations,
                        .polling = settings.polling,
                        .payload_bytes = settings.payload};
    const auto sources =
        settings.gradients.empty()
            ? synthetic_sources(settings)
            : find_gradient_sources(settings.gradients,
                                    workers_given ? std::optional(settings.workers) : std::nullopt);
    JsonFile json(settings.json);
    Progress progress(settings.progress);
    print_banner(
        {fmt::format("Allreduce over {}: {}", settings.port,
                     emulation(parse_transport(settings.port))),
         fmt::format("all ranks and the aggregator SHARE {} cores of one machine; in place, every "
                     "result of every iteration checked on every rank",
                     std::thread::hardware_concurrency()),
         fmt::format(
             "time: median of {} iterations after {} of warm-up, the slowest rank's; first: "
             "the first of the warm-up; tx, rx: bytes on the wire of one worker, headers "
             "included",
             settings.iterations, settings.warmup)});
    const auto table = allreduce_table();
    table.print_head();
    bool right = true;
    for (const auto& source : sources) {
        progress.show("preparing gradients");
        right &= run_set(source(), task, settings, table, progress, json);
    }
    json.save();
    return right;
}

std::string check_payload(const std::string& text) {
    std::size_t bytes = 0;
    return CLI::detail::lexical_cast(text, bytes) && bytes % 64 == 0 && bytes <= 65472
               ? ""
               : fmt::format("{} is neither 0 nor a multiple of 64 up to 65472", text);
}

void add_data_options(CLI::App& command, Settings& settings) {
    auto* gradients = command
                          .add_option("--gradients", settings.gradients,
                                      "Directory of stepNNN-workerM.npy[.zst] instead of synthetic "
                                      "gradients; several allowed")
                          ->check(CLI::ExistingDirectory);
    const CLI::Validator size(check_size, "SIZE");
    command.add_option("--min", settings.smallest, "Smallest synthetic size in bytes")
        ->check(size)
        ->excludes(gradients)
        ->capture_default_str();
    command.add_option("--max", settings.largest, "Largest synthetic size in bytes")
        ->check(size)
        ->excludes(gradients)
        ->capture_default_str();
    command.add_option("--factor", settings.factor, "From one synthetic size to the next")
        ->check(CLI::Range(2, 1 << 20))
        ->excludes(gradients)
        ->capture_default_str();
    command.add_option("--density", settings.density, "Share of non-zeros of one synthetic worker")
        ->check(CLI::Range(1e-6, 1.0))
        ->excludes(gradients)
        ->capture_default_str();
    command.add_option("--shape", settings.shape, "Where they lie: uniform, runs or rows")
        ->check(CLI::IsMember({"uniform", "runs", "rows"}))
        ->excludes(gradients)
        ->capture_default_str();
}

void add_run_options(CLI::App& command, Settings& settings) {
    command
        .add_option("--transport,--port", settings.port,
                    "inproc (threads), udp, memif or veth (root)")
        ->check(CLI::IsMember({"inproc", "udp", "memif", "veth"}))
        ->capture_default_str();
    command.add_option("--codec", settings.codecs, "auto, dense, packed, sketch or all")
        ->delimiter(',')
        ->capture_default_str();
    command
        .add_option("--arithmetic", settings.arithmetics,
                    "exact, f32, fixed32 or all; default: fixed32 for sketch, exact for the others")
        ->delimiter(',')
        ->capture_default_str();
    command.add_option("--iterations", settings.iterations, "Timed iterations")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    command.add_option("--warmup", settings.warmup, "Iterations before them")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    command.add_option("--polling", settings.polling, "auto, spin, yield or sleep")
        ->check(CLI::Validator(check_polling, "", "polling"))
        ->capture_default_str();
    command
        .add_option("--payload", settings.payload,
                    "Payload bytes of a packet; 0: as the path allows")
        ->check(CLI::Validator(check_payload, "multiple of 64"))
        ->capture_default_str();
    command.add_option("--json", settings.json, "Write the rows to this file");
    command.add_flag("--progress", settings.progress,
                     "Progress on standard error, terminal or not");
}

}  // namespace

void add_allreduce_command(CLI::App& app, int& exit_code) {
    auto settings = std::make_shared<Settings>();
    auto* command = app.add_subcommand(
        "allreduce", "Allreduce: times, bandwidths and bytes on the wire, ranks as processes");
    add_data_options(*command, *settings);
    const auto* workers =
        command
            ->add_option("--workers", settings->workers,
                         "Ranks; with --gradients all that a step has unless given")
            ->check(CLI::Range(1, 64))
            ->capture_default_str();
    add_run_options(*command, *settings);
    command->callback([settings, workers, &exit_code] {
        exit_code = run(*settings, workers->count() > 0) ? 0 : 1;
    });
}

}  // namespace sumwire::apps
