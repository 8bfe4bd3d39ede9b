#include "apps/bench/allreduce_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "apps/bench/allreduce_rank.h"
#include "apps/bench/event_channel.h"
#include "apps/bench/reference.h"
#include "apps/support/launcher.h"
#include "apps/support/npy.h"
#include "apps/support/temporary_directory.h"

namespace sumwire::apps {
namespace {

using nlohmann::json;

Polling public_polling(std::string_view text) {
    if (text == "spin") return Polling::spin;
    if (text == "yield") return Polling::yield;
    if (text == "sleep") return Polling::sleep;
    return Polling::automatic;
}

Options rank_options(const AllreducePlan& plan, const std::string& polling,
                     std::size_t payload_bytes) {
    Options options;
    options.polling = public_polling(polling);
    options.payload_bytes = payload_bytes;
    options.float_sums = std::ranges::any_of(plan.choices, [](const CodecChoice& choice) {
        return choice.arithmetic == gpu::Arithmetic::f32;
    });
    return options;
}

void run_threads(const GradientSet& set, const AllreducePlan& plan,
                 const AllreduceSettings& settings, AllreduceRows& rows) {
    static unsigned session = 0;
    Reference reference(set);
    std::vector<ExpectedSums> expected;
    for (const auto& choice : plan.choices)
        expected.push_back(reference.of(choice.arithmetic));

    auto options = rank_options(plan, settings.polling, settings.payload_bytes);
    options.world_size = static_cast<int>(set.ranks.size());
    options.port = fmt::format("inproc:bench-allreduce{}", ++session);
    std::mutex mutex;
    std::exception_ptr failure;
    std::vector<std::jthread> threads;
    for (unsigned rank = 0; rank < set.ranks.size(); ++rank) {
        options.rank = static_cast<int>(rank);
        threads.emplace_back([&, options, rank] {
            try {
                run_allreduce_rank(
                    plan, options, set.ranks[rank], expected,
                    {.progress = [&](auto text) { rows.show_progress(text); },
                     .report = [&](auto choice,
                                   const auto& report) { rows.add(rank, choice, report); }});
            } catch (...) {
                // The first failure is the cause, the others follow from it.
                const std::lock_guard lock(mutex);
                if (!failure) failure = std::current_exception();
            }
        });
    }
    threads.clear();
    if (failure) std::rethrow_exception(failure);
}

// Puts what the processes need into files, and names them in the job file.
std::filesystem::path write_job(const std::filesystem::path& directory, const GradientSet& set,
                                const AllreducePlan& plan, const AllreduceSettings& settings) {
    json job{{"plan", plan},
             {"polling", settings.polling},
             {"payload_bytes", settings.payload_bytes},
             {"gradients", json::array()},
             {"expected", json::array()}};
    for (std::size_t rank = 0; rank < set.ranks.size(); ++rank) {
        const auto path = directory / fmt::format("gradient{}.npy", rank);
        write_npy(path, set.ranks[rank]);
        job["gradients"].push_back(path.string());
    }
    Reference reference(set);
    for (const auto& choice : plan.choices) {
        const auto expected = reference.of(choice.arithmetic);
        const bool is_float_sum = choice.arithmetic == gpu::Arithmetic::f32;
        const auto path = directory / (is_float_sum ? "float-sum.npy" : "exact-sum.npy");
        if (!std::filesystem::exists(path)) write_npy(path, expected.values);
        job["expected"].push_back(
            {{"values", path.string()},
             {"bounds", std::vector<double>(expected.bounds.begin(), expected.bounds.end())}});
    }
    auto path = directory / "job.json";
    std::ofstream file(path);
    file << job;
    file.close();
    if (!file)
        throw std::runtime_error(
            fmt::format("cannot write {}; free space there or set TMPDIR", path.string()));
    return path;
}

void run_processes(const GradientSet& set, const AllreducePlan& plan,
                   const AllreduceSettings& settings, AllreduceRows& rows) {
    const TemporaryDirectory directory;
    const auto job = write_job(directory.path(), set, plan, settings);
    LaunchResult result;
    {
        const EventChannel channel([&rows](const json& event) {
            if (event.contains("report"))
                rows.add(event.at("rank"), event.at("choice"), event.at("report"));
            else
                rows.show_progress(event.at("progress").get<std::string>());
        });
        const WorkerProgram worker{
            .arguments = {std::filesystem::read_symlink("/proc/self/exe").string(),
                          "allreduce-rank", "--job", job.string(), "--events",
                          fmt::format("{}", channel.sender())},
            .inherited = {channel.sender()}};
        LaunchOptions options;
        options.workers.assign(set.ranks.size(), worker);
        options.transport = settings.transport;
        options.aggregator_arguments = {"--polling", settings.polling, "--pollers",
                                        fmt::format("{}", set.ranks.size() + 1)};
        if (settings.payload_bytes > 0)
            options.aggregator_arguments.insert(
                options.aggregator_arguments.end(),
                {"--payload", fmt::format("{}", settings.payload_bytes)});
        result = launch(options);
    }
    if (!result.failures.empty()) throw std::runtime_error(result.failures.front());
    if (!result.ok()) throw std::runtime_error("interrupted");
}

}  // namespace

void run_allreduce_session(const GradientSet& set, const AllreducePlan& plan,
                           const AllreduceSettings& settings, AllreduceRows& rows) {
    if (settings.transport == Transport::inproc)
        run_threads(set, plan, settings, rows);
    else
        run_processes(set, plan, settings, rows);
}

void run_allreduce_process(const std::filesystem::path& path, int events) {
    const char* const rank_text = std::getenv("RANK");
    if (rank_text == nullptr)
        throw std::invalid_argument("RANK is unset; let 'sumwire-bench allreduce' start the ranks");
    const auto rank = std::stoul(rank_text);
    const auto job = json::parse(std::ifstream(path));
    const auto plan = job.at("plan").get<AllreducePlan>();
    const auto gradient = read_npy(job.at("gradients").at(rank).get<std::string>());

    std::map<std::string, std::vector<float>> sums;
    std::vector<std::vector<double>> bounds;
    for (const auto& expected : job.at("expected")) {
        const auto& values = expected.at("values").get<std::string>();
        if (!sums.contains(values)) sums[values] = read_npy(values);
        bounds.push_back(expected.at("bounds"));
    }
    std::vector<ExpectedSums> expected;
    for (std::size_t i = 0; i < bounds.size(); ++i)
        expected.push_back(
            {.values = sums.at(job.at("expected").at(i).at("values")), .bounds = bounds[i]});

    run_allreduce_rank(
        plan, rank_options(plan, job.at("polling"), job.at("payload_bytes")), gradient, expected,
        {.progress =
             [events](auto text) {
                 EventChannel::send(events, {{"progress", text}});
             },
         .report =
             [events, rank](auto choice, const auto& report) {
                 EventChannel::send(events,
                                    {{"rank", rank}, {"choice", choice}, {"report", report}});
             }});
}

}  // namespace sumwire::apps
