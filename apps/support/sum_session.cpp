#include "apps/support/sum_session.h"

#include <fmt/core.h>
#include <unistd.h>

#include <exception>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "apps/support/event_channel.h"
#include "apps/support/rank.h"
#include "apps/support/rank_process.h"
#include "switch_emu/limits.h"

namespace sumwire::apps {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

std::string inproc_port(const SessionSettings& settings) {
    static unsigned sessions = 0;
    std::string port = fmt::format("inproc:session-{}-{}", getpid(), ++sessions);
    if (settings.mtu != 0) port += fmt::format(";mtu={}", settings.mtu);
    if (!settings.faults.empty()) port += ";faults=" + settings.faults;
    return port;
}

LaunchResult run_threads(std::span<const std::vector<float>> gradients, const RankTask& task,
                         std::span<const ExpectedSums> expected, const SessionSettings& settings,
                         const SessionObserver& observer) {
    Options common;
    common.world_size = static_cast<int>(gradients.size());
    common.port = inproc_port(settings);
    common.job = "session";
    LaunchResult result;
    std::mutex mutex;
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
        threads.emplace_back([&, rank] {
            try {
                Options own = common;
                own.rank = static_cast<int>(rank);
                run_rank(task, own, gradients[rank], expected,
                         {.progress =
                              [&](auto text) {
                                  const std::lock_guard lock(mutex);
                                  observer.progress(text);
                              },
                          .report =
                              [&](auto choice, const auto& report) {
                                  const std::lock_guard lock(mutex);
                                  observer.report(rank, choice, report);
                              }});
            } catch (const std::exception& error) {
                const std::lock_guard lock(mutex);
                result.failures.push_back(fmt::format("rank {}: {}", rank, error.what()));
            }
        });
    }
    threads.clear();
    return result;
}

class EventReader {
  public:
    explicit EventReader(const SessionObserver& observer) : observer_(observer) {}

    void operator()(const json& event) {
        if (event.contains("progress"))
            return observer_.progress(event.at("progress").get<std::string>());
        const std::size_t rank = event.at("rank");
        const std::size_t choice = event.at("choice");
        auto& seconds = seconds_[{rank, choice}];
        const auto add = [&](const std::vector<double>& more) {
            seconds.insert(seconds.end(), more.begin(), more.end());
        };
        if (event.contains("seconds")) return add(event.at("seconds"));
        auto report = event.at("report").get<RankReport>();
        add(report.seconds);
        report.seconds = std::move(seconds);
        observer_.report(rank, choice, report);
    }

  private:
    const SessionObserver& observer_;
    std::map<std::pair<std::size_t, std::size_t>, std::vector<double>> seconds_;
};

LaunchResult run_processes(std::span<const std::vector<float>> gradients, const RankTask& task,
                           std::span<const ExpectedSums> expected, const SessionSettings& settings,
                           const SessionObserver& observer) {
    const EventChannel channel(EventReader{observer});
    const RankProcesses processes(task, gradients, expected, channel.sender());
    LaunchOptions options;
    options.workers = processes.programs();
    options.transport = settings.transport;
    options.aggregator = settings.aggregator;
    options.embedded = settings.embedded;
    options.aggregator_arguments =
        aggregator_arguments(task.polling, gradients.size(), task.payload_bytes);
    options.faults = settings.faults;
    options.mtu = settings.mtu;
    options.show_aggregator = settings.show_aggregator;
    // The ranks that are left fail by themselves: by the deadline at the latest.
    if (task.deadline) options.grace = *task.deadline + 5s;
    return launch(options);
}

}  // namespace

LaunchResult run_session(std::span<const std::vector<float>> gradients, const RankTask& task,
                         std::span<const ExpectedSums> expected, const SessionSettings& settings,
                         const SessionObserver& observer) {
    return settings.transport == Transport::inproc
               ? run_threads(gradients, task, expected, settings, observer)
               : run_processes(gradients, task, expected, settings, observer);
}

std::vector<std::string> aggregator_arguments(const std::string& polling, std::size_t workers,
                                              std::size_t payload_bytes) {
    std::vector<std::string> arguments{"--polling", polling, "--pollers",
                                       std::to_string(workers + 1)};
    if (payload_bytes > aggregator::Limits{}.payload_bytes)
        arguments.insert(arguments.end(), {"--payload", std::to_string(payload_bytes)});
    return arguments;
}

}  // namespace sumwire::apps
