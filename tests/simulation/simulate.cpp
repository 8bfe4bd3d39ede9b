// sumwire-simulate: many schedules, each in virtual time by its seed; a failing seed replays.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/simulation/schedule.h"
#include "tests/simulation/world.h"

namespace {

using namespace sumwire;
using namespace sumwire::simulation;

struct Totals {
    std::uint64_t schedules = 0;
    std::uint64_t completed = 0;                // every rank, every call
    std::uint64_t failed_with_named_error = 0;  // some rank, and none without a name
    std::uint64_t wrong_bits = 0;
    std::uint64_t hangs = 0;
    std::uint64_t unexpected_failures = 0;  // of schedules that harm packets alone
    std::uint64_t ranks = 0;
    std::uint64_t bytes = 0;
};

void describe(const Schedule& schedule, const Report& report) {
    fmt::print(
        "  loss {:.3f} duplication {:.3f} reordering {:.3f} corruption {:.4f} delay {} us "
        "rate {:.0f} bytes/s\n",
        schedule.faults.loss, schedule.faults.duplication, schedule.faults.reordering,
        schedule.faults.corruption, schedule.faults.delay.count() / 1000,
        schedule.faults.bytes_per_second);
    constexpr const char* names[] = {"running", "completed", "failed", "wrong bits", "stopped"};
    for (const RankReport& rank : report.ranks) {
        fmt::print("  {} rank {}: {} {}\n", rank.job, rank.rank,
                   names[static_cast<std::size_t>(rank.outcome)], rank.error);
    }
    fmt::print("  ended after {:.3f} s of virtual time\n",
               std::chrono::duration<double>(report.lasted).count());
}

// Whether the run ended as it must.
bool count(const Schedule& schedule, const Report& report, Totals& totals) {
    ++totals.schedules;
    totals.ranks += report.ranks.size();
    for (const RankReport& rank : report.ranks)
        totals.bytes += rank.bytes_sent;
    const bool all = report.count(Outcome::completed) == report.ranks.size();
    const bool wrong = report.count(Outcome::wrong_bits) != 0;
    const bool nameless =
        std::any_of(report.ranks.begin(), report.ranks.end(), [](const RankReport& rank) {
            return rank.outcome == Outcome::failed && rank.error.empty();
        });
    totals.completed += all ? 1 : 0;
    totals.wrong_bits += wrong ? 1 : 0;
    totals.hangs += report.hangs() ? 1 : 0;
    if (report.count(Outcome::failed) != 0 && !nameless) ++totals.failed_with_named_error;
    const bool unexpected = schedule.harmless() && !all && !wrong && !report.hangs();
    totals.unexpected_failures += unexpected ? 1 : 0;
    return !wrong && !report.hangs() && !nameless && !unexpected;
}

void write_json(const std::string& path, const Totals& totals) {
    const nlohmann::ordered_json json = {
        {"schedules", totals.schedules},
        {"completed", totals.completed},
        {"failed_with_named_error", totals.failed_with_named_error},
        {"wrong_bits", totals.wrong_bits},
        {"hangs", totals.hangs},
        {"unexpected_failures", totals.unexpected_failures},
        {"bytes_a_worker", totals.ranks == 0 ? 0 : totals.bytes / totals.ranks},
    };
    std::ofstream file(path);
    file << json.dump(2) << "\n";
    if (!file.flush()) throw CLI::ValidationError("--json", path + " cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Runs the protocol under virtual time and seeds, and checks every result");
    std::uint64_t schedules = 1000;
    std::uint64_t seed = 1;
    std::uint16_t workers = 0;
    Bounds bounds;
    bool calm = false;
    bool no_checksums = false;
    bool verbose = false;
    std::string json;
    app.add_option("--schedules", schedules, "How many")->capture_default_str();
    app.add_option("--seed", seed, "The first schedule's; the others follow")
        ->capture_default_str();
    app.add_option("--workers", workers, "Ranks of each job; drawn if absent")
        ->check(CLI::Range(1, 1024));
    const auto probability = CLI::Range(0.0, 1.0);
    app.add_option("--loss", bounds.loss, "Highest rate")->check(probability);
    app.add_option("--duplication", bounds.duplication, "Highest rate")->check(probability);
    app.add_option("--reordering", bounds.reordering, "Highest rate")->check(probability);
    app.add_option("--corruption", bounds.corruption, "Highest rate")->check(probability);
    app.add_flag("--no-crashes", calm, "Only what a network does to packets");
    app.add_flag("--no-checksums", no_checksums, "Let damage through: results must come out wrong");
    app.add_flag("--verbose", verbose, "Tell of every schedule, not only of those that fail");
    app.add_option("--json", json, "Write the counts to this file");
    CLI11_PARSE(app, argc, argv);
    if (workers != 0) bounds.workers = workers;
    bounds.crashes = !calm;
    bounds.checksums = !no_checksums;

    Totals totals;
    bool good = true;
    for (std::uint64_t i = 0; i < schedules; ++i) {
        const Schedule schedule = draw_schedule(seed + i, bounds);
        const Report report = run(schedule);
        const bool right = count(schedule, report, totals);
        good &= right;
        if (right && !verbose) continue;
        fmt::print("seed {}: {}\n", seed + i, right ? "as it must be" : "WRONG");
        describe(schedule, report);
    }
    fmt::print(
        "{} schedules: {} completed, {} failed with a named error, {} wrong bits, {} hangs, "
        "{} failed without cause\n",
        totals.schedules, totals.completed, totals.failed_with_named_error, totals.wrong_bits,
        totals.hangs, totals.unexpected_failures);
    try {
        if (!json.empty()) write_json(json, totals);
    } catch (const CLI::Error& error) {
        return app.exit(error);
    }
    return good ? 0 : 1;
}
