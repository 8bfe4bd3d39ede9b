#include "apps/run/sum_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <mutex>
#include <thread>

#include "apps/run/rank_process.h"

namespace sumwire::apps {
namespace {

using namespace std::chrono_literals;

// What an aggregator allows unless told otherwise.
constexpr std::size_t usual_payload_limit = 8192;

RankTask task_of(const RunOptions& options, const SumChoice& choice) {
    return {.choice = choice,
            .op = options.op,
            .iterations = options.iterations,
            .polling = parse_polling(options.polling),
            .payload_bytes = options.payload_bytes,
            .deadline = options.deadline};
}

JobOutcome run_processes(const RunOptions& options, const RankTask& task,
                         const GradientFiles& files, std::size_t elements) {
    LaunchOptions launch_options;
    std::vector<RankProcess> ranks;
    for (const auto& path : files.ranks) {
        ranks.emplace_back(task, path, elements);
        launch_options.workers.push_back(ranks.back().program());
    }
    launch_options.transport = options.transport;
    launch_options.aggregator = options.aggregator;
    launch_options.embedded = options.embedded;
    launch_options.aggregator_arguments = aggregator_arguments(options, ranks.size());
    launch_options.faults = options.faults;
    launch_options.mtu = options.mtu;
    launch_options.show_aggregator = options.verbose;
    // The ranks that are left fail by themselves: by the deadline at the latest.
    if (options.deadline) launch_options.grace = *options.deadline + 5s;

    JobOutcome outcome;
    outcome.status = launch(launch_options);
    if (!outcome.status.ok()) return outcome;
    for (const auto& rank : ranks) {
        outcome.reports.push_back(rank.report());
        outcome.results.push_back(rank.result());
    }
    return outcome;
}

std::string inproc_port(const RunOptions& options) {
    static unsigned runs = 0;
    std::string port = fmt::format("inproc:run-{}-{}", getpid(), ++runs);
    if (options.mtu != 0) port += fmt::format(";mtu={}", options.mtu);
    if (!options.faults.empty()) port += ";faults=" + options.faults;
    return port;
}

JobOutcome run_threads(const RunOptions& options, const RankTask& task,
                       std::span<const std::vector<float>> gradients) {
    const std::size_t world_size = gradients.size();
    JobOutcome outcome;
    outcome.reports.resize(world_size);
    outcome.results.resize(world_size);
    Options common;
    common.world_size = static_cast<int>(world_size);
    common.port = inproc_port(options);
    common.job = "run";
    std::mutex mutex;
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < world_size; ++rank) {
        threads.emplace_back([&, rank] {
            try {
                Options own = common;
                own.rank = static_cast<int>(rank);
                outcome.results[rank].resize(gradients[rank].size());
                outcome.reports[rank] = run_rank(task, own, gradients[rank], outcome.results[rank]);
            } catch (const std::exception& error) {
                const std::lock_guard lock(mutex);
                outcome.status.failures.push_back(fmt::format("rank {}: {}", rank, error.what()));
            }
        });
    }
    threads.clear();
    return outcome;
}

}  // namespace

std::vector<std::string> aggregator_arguments(const RunOptions& options, std::size_t workers) {
    std::vector<std::string> arguments{"--polling", options.polling, "--pollers",
                                       std::to_string(workers + 1)};
    if (options.payload_bytes > usual_payload_limit) {
        arguments.emplace_back("--payload");
        arguments.push_back(std::to_string(options.payload_bytes));
    }
    return arguments;
}

JobOutcome run_job(const RunOptions& options, const SumChoice& choice, const GradientFiles& files,
                   std::span<const std::vector<float>> gradients) {
    const RankTask task = task_of(options, choice);
    if (options.transport == Transport::inproc) return run_threads(options, task, gradients);
    return run_processes(options, task, files, gradients.front().size());
}

}  // namespace sumwire::apps
