#include "apps/bench/allreduce_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "apps/bench/statistics.h"

namespace sumwire::apps {
namespace {

// One choice over all ranks.
struct Summary {
    std::vector<double> seconds;  // of each timed iteration, the slowest rank's
    double first_seconds = 0;
    double wire_bytes_tx = 0;  // the busiest rank's
    double wire_bytes_rx = 0;
    double first_wire_bytes_tx = 0;
    std::uint64_t wrong = 0;
    std::uint64_t stalls = 0;
    std::uint64_t retransmissions = 0;
    bool exact = true;
};

Summary summarise(const std::vector<std::optional<RankReport>>& reports) {
    Summary summary;
    summary.seconds.resize(reports.front()->seconds.size());
    for (const auto& report : reports) {
        for (std::size_t i = 0; i < summary.seconds.size(); ++i)
            summary.seconds[i] = std::max(summary.seconds[i], report->seconds.at(i));
        summary.first_seconds = std::max(summary.first_seconds, report->first_seconds);
        summary.wire_bytes_tx = std::max(summary.wire_bytes_tx, report->wire_bytes_tx);
        summary.wire_bytes_rx = std::max(summary.wire_bytes_rx, report->wire_bytes_rx);
        summary.first_wire_bytes_tx =
            std::max(summary.first_wire_bytes_tx, report->first_wire_bytes_tx);
        summary.wrong += report->wrong;
        summary.stalls = std::max(summary.stalls, report->stalls);
        summary.retransmissions += report->retransmissions;
        summary.exact &= report->wrong == 0 && report->digest == reports.front()->digest;
    }
    return summary;
}

}  // namespace

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

AllreduceRows::AllreduceRows(AllreduceSubject subject, const Table& table, Progress& progress,
                             JsonFile& json)
    : subject_(std::move(subject)),
      table_(table),
      progress_(progress),
      json_(json),
      reports_(subject_.choices.size(), std::vector<std::optional<RankReport>>(subject_.workers)) {}

void AllreduceRows::add(unsigned rank, std::size_t choice, const RankReport& report) {
    const std::lock_guard lock(mutex_);
    auto& row = reports_.at(choice);
    row.at(rank) = report;
    if (std::ranges::all_of(row, [](const auto& entry) { return entry.has_value(); })) emit(choice);
}

void AllreduceRows::show_progress(std::string_view text) {
    const std::lock_guard lock(mutex_);
    progress_.show(
        fmt::format("{}/{} over {}: {}", subject_.model, subject_.step, subject_.port, text));
}

bool AllreduceRows::all_exact() const {
    const std::lock_guard lock(mutex_);
    return exact_rows_ == subject_.choices.size();
}

void AllreduceRows::emit(std::size_t index) {
    const auto& choice = subject_.choices[index];
    const auto summary = summarise(reports_[index]);
    const auto bytes = subject_.elements * sizeof(float);
    const auto size = static_cast<double>(bytes);
    const auto time = median(summary.seconds);
    const auto algorithm = size * 1e-9 / time;
    const auto bus = algorithm * 2.0 * (subject_.workers - 1) / subject_.workers;
    const auto [fastest, slowest] = std::ranges::minmax(summary.seconds);
    exact_rows_ += summary.exact ? 1 : 0;

    progress_.clear();
    table_.print_row(
        {fmt::format("{}/{}", subject_.model, subject_.step), std::string(name_of(choice.codec)),
         std::string(name_of(choice.arithmetic)), fmt::format("{}", bytes),
         fmt::format("{}", subject_.elements), "float", "sum", fmt::format("{:.1f}", time * 1e6),
         fmt::format("{:.3f}", algorithm), fmt::format("{:.3f}", bus),
         fmt::format("{}", summary.wrong), fmt::format("{:.1f}", summary.first_seconds * 1e6),
         fmt::format("{:.0f}", summary.wire_bytes_tx),
         fmt::format("{:.3f}", summary.wire_bytes_tx / size),
         fmt::format("{:.0f}", summary.wire_bytes_rx),
         fmt::format("{:.3f}", summary.wire_bytes_rx / size), fmt::format("{}", summary.stalls),
         fmt::format("{}", summary.retransmissions), summary.exact ? "yes" : "NO"});
    json_.add({{"model", subject_.model},
               {"step", subject_.step},
               {"workers", subject_.workers},
               {"port", subject_.port},
               {"codec", name_of(choice.codec)},
               {"arithmetic", name_of(choice.arithmetic)},
               {"elements", subject_.elements},
               {"dense_bytes", bytes},
               {"wire_bytes_tx", std::llround(summary.wire_bytes_tx)},
               {"wire_bytes_rx", std::llround(summary.wire_bytes_rx)},
               {"seconds_median", time},
               {"seconds_min", fastest},
               {"seconds_max", slowest},
               {"alg_gb_s", algorithm},
               {"bus_gb_s", bus},
               {"exact", summary.exact},
               {"wrong", summary.wrong},
               {"first_seconds", summary.first_seconds},
               {"first_wire_bytes_tx", std::llround(summary.first_wire_bytes_tx)},
               {"stalls", summary.stalls},
               {"retransmissions", summary.retransmissions}});
}

}  // namespace sumwire::apps
