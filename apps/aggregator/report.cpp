#include "apps/aggregator/report.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "apps/aggregator/hints.h"

namespace sumwire::apps {
namespace {

using aggregator::JobEvent;
using nlohmann::json;

constexpr std::size_t ended_jobs_kept = 256;

// One list for the table and the JSON file, so that both say the same.
std::vector<std::pair<const char*, std::uint64_t>> figures(
    const aggregator::LoopStatistics& statistics) {
    const aggregator::Statistics& a = statistics.aggregator;
    return {{"jobs_started", a.jobs_started},
            {"jobs_finished", a.jobs_finished},
            {"jobs_lost", a.jobs_lost},
            {"joins", a.joins},
            {"refusals", a.refusals},
            {"contributions", a.contributions},
            {"payload_bytes", a.payload_bytes},
            {"results", a.results},
            {"duplicates", a.duplicates},
            {"stale", a.stale},
            {"datagrams", a.datagrams},
            {"malformed", a.malformed},
            {"strangers", a.strangers},
            {"dropped_answers", statistics.dropped_answers},
            {"tx_packets", statistics.port.tx_packets},
            {"tx_bytes", statistics.port.tx_bytes},
            {"rx_packets", statistics.port.rx_packets},
            {"rx_bytes", statistics.port.rx_bytes},
            {"tx_would_block", statistics.port.tx_would_block},
            {"rx_malformed", statistics.port.rx_malformed}};
}

// Names come from whoever can reach the aggregator.
std::string printable(std::string name) {
    std::ranges::replace_if(
        name, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    return name;
}

const char* name_of(JobEvent::Kind kind) {
    switch (kind) {
        case JobEvent::Kind::started:
            return "running";
        case JobEvent::Kind::finished:
            return "finished";
        case JobEvent::Kind::lost:
            return "lost";
    }
    return "";
}

json to_json(const aggregator::JobStatistics& job, JobEvent::Kind state) {
    return {{"name", job.name},
            {"state", name_of(state)},
            {"world_size", job.world_size},
            {"contributions", job.contributions},
            {"payload_bytes", job.payload_bytes},
            {"results", job.results},
            {"duplicates", job.duplicates},
            {"stale", job.stale}};
}

}  // namespace

Report::Report() {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "sumwire-aggregator", std::make_shared<spdlog::sinks::stderr_color_sink_mt>()));
}

void Report::banner(const nic::PortInfo& port, const aggregator::Limits& limits) const {
    spdlog::warn("EMULATED SWITCH: this process sums on the CPU, no switch hardware is involved");
    spdlog::warn("network: {}", port.description);
    spdlog::info(
        "sumwire-aggregator {} at {}: up to {} jobs, {} slots each, {} bytes a packet, {} "
        "MiB of slot memory",
        SUMWIRE_VERSION, nic::to_string(port.local), limits.jobs, limits.slots_per_job,
        limits.payload_bytes, limits.memory_bytes >> 20U);
}

void Report::on_event(const JobEvent& event) {
    const aggregator::JobStatistics& job = event.job;
    switch (event.kind) {
        case JobEvent::Kind::started:
            spdlog::info("job '{}': all {} ranks are here", printable(job.name), job.world_size);
            return;
        case JobEvent::Kind::finished:
            spdlog::info("job '{}' finished: {} slots summed, {} duplicates", printable(job.name),
                         job.results, job.duplicates);
            break;
        case JobEvent::Kind::lost:
            spdlog::warn("job '{}' lost: rank {} {}; {} slots summed", printable(job.name),
                         event.lost_rank,
                         event.left ? "left while others needed it" : "fell silent", job.results);
            break;
    }
    ended_.push_back(event);
    if (ended_.size() > ended_jobs_kept) ended_.pop_front();
}

void Report::table(const aggregator::LoopStatistics& statistics) const {
    spdlog::info("statistics");
    for (const auto& [name, value] : figures(statistics))
        spdlog::info("  {:<16} {:>20}", name, value);
    for (const aggregator::JobStatistics& job : statistics.jobs)
        spdlog::warn("job '{}' still ran: {} ranks, {} slots summed", printable(job.name),
                     job.world_size, job.results);
    for (const std::string& hint : hints(statistics))
        spdlog::warn("{}", hint);
}

void Report::write_json(const std::string& file, const nic::PortInfo& port,
                        const aggregator::LoopStatistics& statistics) const {
    json document{{"version", SUMWIRE_VERSION},
                  {"port", port.description},
                  {"address", nic::to_string(port.local)},
                  {"jobs", json::array()}};
    for (const auto& [name, value] : figures(statistics))
        document[name] = value;
    for (const JobEvent& event : ended_) {
        json job = to_json(event.job, event.kind);
        if (event.kind == JobEvent::Kind::lost) {
            job["lost_rank"] = event.lost_rank;
            job["left"] = event.left;
        }
        document["jobs"].push_back(std::move(job));
    }
    for (const aggregator::JobStatistics& job : statistics.jobs)
        document["jobs"].push_back(to_json(job, JobEvent::Kind::started));
    std::ofstream out(file);
    out << document.dump(4, ' ', false, json::error_handler_t::replace) << '\n';
    if (!out.flush()) {
        throw std::runtime_error(fmt::format("cannot write {}: is its disk full?", file));
    }
}

}  // namespace sumwire::apps
