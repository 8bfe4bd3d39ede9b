#include "apps/support/rank_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <exception>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "apps/support/event_channel.h"
#include "apps/support/rank.h"
#include "apps/support/shared_memory.h"

namespace sumwire::apps {
namespace {

using nlohmann::json;

// The first argument of such a process; the second is the job's descriptor.
constexpr std::string_view rank_command = "rank-of-a-session";
// Times in one event: a socket takes a few hundred KiB at once.
constexpr std::size_t most_seconds = 2000;

void send_report(int events, std::size_t rank, std::size_t choice, RankReport report) {
    auto& seconds = report.seconds;
    std::size_t sent = 0;
    for (; seconds.size() - sent > most_seconds; sent += most_seconds) {
        const auto part = std::span(seconds).subspan(sent, most_seconds);
        EventChannel::send(events, {{"rank", rank},
                                    {"choice", choice},
                                    {"seconds", std::vector<double>(part.begin(), part.end())}});
    }
    seconds.erase(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(sent));
    EventChannel::send(events, {{"rank", rank}, {"choice", choice}, {"report", report}});
}

void run_job(int descriptor) {
    const char* const rank_text = std::getenv("RANK");
    if (rank_text == nullptr)
        throw std::runtime_error("RANK is unset; let sumwire-run or sumwire-bench start the ranks");
    const std::size_t rank = std::stoul(rank_text);
    const auto job = json::parse(SharedView(descriptor).text());
    const auto task = job.at("task").get<RankTask>();
    const int events = job.at("events");
    const SharedView gradient(job.at("gradients").at(rank).get<int>());
    std::deque<SharedView> views;
    std::vector<ExpectedSums> expected;
    for (const auto& entry : job.at("expected")) {
        const auto& values = views.emplace_back(entry.at("values").get<int>());
        const auto& bounds = views.emplace_back(entry.at("bounds").get<int>());
        expected.push_back({.values = values.as<float>(), .bounds = bounds.as<double>()});
    }
    run_rank(task, {}, gradient.as<float>(), expected,
             {.progress =
                  [&](auto text) {
                      EventChannel::send(events, {{"progress", text}});
                  },
              .report = [&](auto choice,
                            const auto& report) { send_report(events, rank, choice, report); }});
}

}  // namespace

RankProcesses::RankProcesses(const RankTask& task, std::span<const std::vector<float>> gradients,
                             std::span<const ExpectedSums> expected, int events)
    : ranks_(gradients.size()), inherited_{events} {
    json job{{"task", task},
             {"events", events},
             {"gradients", json::array()},
             {"expected", json::array()}};
    for (const auto& gradient : gradients)
        job["gradients"].push_back(share_all(std::as_bytes(std::span(gradient))));
    // Choices have most of their sums in common.
    std::map<const void*, int> shared;
    const auto share_once = [&](auto values) {
        const auto [at, is_new] = shared.try_emplace(values.data(), -1);
        if (is_new) at->second = share_all(std::as_bytes(values));
        return at->second;
    };
    for (const auto& sums : expected)
        job["expected"].push_back(
            {{"values", share_once(sums.values)}, {"bounds", share_once(sums.bounds)}});
    const std::string text = job.dump();
    job_ = share_all(std::as_bytes(std::span(text)));
}

int RankProcesses::share_all(std::span<const std::byte> bytes) {
    memory_.push_back(share(bytes));
    inherited_.push_back(memory_.back().get());
    return memory_.back().get();
}

std::vector<WorkerProgram> RankProcesses::programs() const {
    const WorkerProgram program{
        .arguments = {std::filesystem::read_symlink("/proc/self/exe").string(),
                      std::string(rank_command), std::to_string(job_)},
        .inherited = inherited_};
    return std::vector<WorkerProgram>(ranks_, program);
}

bool is_rank_process(std::span<char* const> arguments) {
    return arguments.size() == 3 && arguments[1] == rank_command;
}

int run_rank_process(std::span<char* const> arguments) {
    try {
        run_job(std::stoi(arguments[2]));
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}

}  // namespace sumwire::apps
