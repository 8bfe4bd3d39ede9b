#include "apps/support/sum_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "apps/support/statistics.h"

namespace sumwire::apps {
namespace {

void judge(std::size_t rank, const RankReport& report, const RankReport& first, SumRow& row) {
    const auto complaints_before = row.complaints.size();
    if (report.verdict.wrong != 0)
        row.complaints.push_back(
            fmt::format("rank {} has {} wrong elements; the first is {}: {} instead of {}", rank,
                        report.verdict.wrong, report.verdict.first, report.verdict.found,
                        report.verdict.expected));
    if (!report.repeatable)
        row.complaints.push_back(fmt::format("rank {} has other bits in later iterations", rank));
    if (report.digest != first.digest)
        row.complaints.push_back(fmt::format("rank {} has other bits than rank 0", rank));
    if (row.complaints.size() == complaints_before) ++row.right_ranks;
}

}  // namespace

SumRow make_row(const SumChoice& choice, const std::vector<RankReport>& reports) {
    SumRow row;
    row.choice = choice;
    row.description = reports.front().description;
    row.seconds.resize(reports.front().seconds.size());
    for (std::size_t rank = 0; rank < reports.size(); ++rank) {
        const RankReport& report = reports[rank];
        for (std::size_t i = 0; i < row.seconds.size(); ++i)
            row.seconds[i] = std::max(row.seconds[i], report.seconds.at(i));
        row.first_seconds = std::max(row.first_seconds, report.first_seconds);
        row.wire_bytes_tx = std::max(row.wire_bytes_tx, report.wire_bytes_tx);
        row.wire_bytes_rx = std::max(row.wire_bytes_rx, report.wire_bytes_rx);
        row.first_wire_bytes_tx = std::max(row.first_wire_bytes_tx, report.first_wire_bytes_tx);
        row.retransmissions += report.retransmissions;
        row.wrong += report.verdict.wrong;
        judge(rank, report, reports.front(), row);
    }
    // The same on every rank, for all of them see the same aggregate.
    row.stalled_chunks = reports.front().stalled_chunks;
    row.dense_chunks = reports.front().dense_chunks;
    row.packed_chunks = reports.front().packed_chunks;
    row.sketch_chunks = reports.front().sketch_chunks;
    return row;
}

nlohmann::ordered_json to_json(const SumSubject& subject, const SumRow& row) {
    const double seconds = median(row.seconds);
    const double algorithm = subject.dense_bytes() * 1e-9 / seconds;
    const auto workers = static_cast<double>(subject.workers);
    const auto [fastest, slowest] = std::ranges::minmax(row.seconds);
    return {{"model", subject.model},
            {"step", subject.step},
            {"workers", subject.workers},
            {"port", subject.transport},
            {"op", name_of(subject.op)},
            {"codec", name_of(row.choice.codec)},
            {"arithmetic", name_of(row.choice.arithmetic)},
            {"elements", subject.elements},
            {"dense_bytes", subject.elements * sizeof(float)},
            {"wire_bytes_tx", std::llround(row.wire_bytes_tx)},
            {"wire_bytes_rx", std::llround(row.wire_bytes_rx)},
            {"seconds_median", seconds},
            {"seconds_min", fastest},
            {"seconds_max", slowest},
            {"alg_gb_s", algorithm},
            {"bus_gb_s", algorithm * 2 * (workers - 1) / workers},
            {"exact", row.right()},
            {"wrong", row.wrong},
            {"first_seconds", row.first_seconds},
            {"first_wire_bytes_tx", std::llround(row.first_wire_bytes_tx)},
            {"stalls", row.stalled_chunks},
            {"dense_chunks", row.dense_chunks},
            {"packed_chunks", row.packed_chunks},
            {"sketch_chunks", row.sketch_chunks},
            {"retransmissions", row.retransmissions}};
}

SumRows::SumRows(std::vector<SumChoice> choices, std::size_t workers,
                 std::function<void(const SumRow&)> on_row)
    : choices_(std::move(choices)),
      on_row_(std::move(on_row)),
      reports_(choices_.size(), std::vector<std::optional<RankReport>>(workers)) {}

void SumRows::add(std::size_t rank, std::size_t choice, const RankReport& report) {
    auto& row = reports_.at(choice);
    row.at(rank) = report;
    std::vector<RankReport> complete;
    for (const auto& entry : row)
        if (entry) complete.push_back(*entry);
    if (complete.size() < row.size()) return;
    const SumRow made = make_row(choices_[choice], complete);
    right_rows_ += made.right() ? 1 : 0;
    on_row_(made);
}

}  // namespace sumwire::apps
