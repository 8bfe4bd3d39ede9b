#include "apps/run/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace sumwire::apps {
namespace {

double median(std::vector<double> values) {
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string with_separators(double number) {
    std::string digits = fmt::format("{:.0f}", number);
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), ",");
    return digits;
}

std::string share(double bytes, double dense_bytes) {
    return dense_bytes > 0 ? fmt::format("{:.1f} %", 100 * bytes / dense_bytes) : "-";
}

constexpr const char* layout = "{:<7} {:<10} {:>13} {:>8} {:>13} {:>8} {:>11} {:>8}  {}\n";

}  // namespace

Row make_row(const SumChoice& choice, const std::vector<RankReport>& reports) {
    Row row;
    row.choice = choice;
    row.seconds.resize(reports.front().seconds.size());
    for (const RankReport& report : reports) {
        for (std::size_t i = 0; i < row.seconds.size(); ++i)
            row.seconds[i] = std::max(row.seconds[i], report.seconds[i]);
        row.wire_bytes_tx = std::max(row.wire_bytes_tx, report.wire_bytes_tx);
        row.wire_bytes_rx = std::max(row.wire_bytes_rx, report.wire_bytes_rx);
        row.retransmissions += report.retransmissions;
    }
    return row;
}

void print_head(const Subject& subject, const std::string& description) {
    fmt::print("{}{}{}: {} elements ({} bytes dense), {} workers\n{}\n\n", subject.model,
               subject.step.empty() ? "" : " ", subject.step,
               with_separators(static_cast<double>(subject.elements)),
               with_separators(subject.dense_bytes()), subject.workers, description);
    fmt::print(layout, "codec", "arithmetic", "sent B/worker", "of dense", "recv B/worker",
               "of dense", "time ms", "resent", "right");
    std::fflush(stdout);
}

void print_row(const Subject& subject, const Row& row) {
    fmt::print(layout, name_of(row.choice.codec), name_of(row.choice.arithmetic),
               with_separators(row.wire_bytes_tx), share(row.wire_bytes_tx, subject.dense_bytes()),
               with_separators(row.wire_bytes_rx), share(row.wire_bytes_rx, subject.dense_bytes()),
               fmt::format("{:.1f}", 1000 * median(row.seconds)), row.retransmissions,
               fmt::format("{} of {} ranks", row.right_ranks, subject.workers));
    std::fflush(stdout);
}

void print_legend(const std::vector<Row>& rows) {
    const auto uses = [&](Arithmetic arithmetic) {
        return std::ranges::any_of(
            rows, [&](const Row& row) { return row.choice.arithmetic == arithmetic; });
    };
    fmt::print(
        "\nBytes include Ethernet, IP, UDP and Sumwire headers. Right means, by an independent "
        "sum:\n");
    if (uses(Arithmetic::exact))
        fmt::print("  exact    every bit is that of the correctly rounded sum\n");
    if (uses(Arithmetic::f32))
        fmt::print("  f32      every bit is that of the float sum in rank order\n");
    if (uses(Arithmetic::fixed32))
        fmt::print("  fixed32  every element is within the stated bound\n");
    fmt::print("and that all ranks hold the same bits.\n");
}

nlohmann::ordered_json to_json(const Subject& subject, const Row& row) {
    const double seconds = median(row.seconds);
    const double algorithm_rate = subject.dense_bytes() / seconds / 1e9;
    const auto workers = static_cast<double>(subject.workers);
    return {{"model", subject.model},
            {"step", subject.step},
            {"workers", subject.workers},
            {"port", subject.transport},
            {"codec", name_of(row.choice.codec)},
            {"arithmetic", name_of(row.choice.arithmetic)},
            {"elements", subject.elements},
            {"dense_bytes", subject.elements * sizeof(float)},
            {"wire_bytes_tx", row.wire_bytes_tx},
            {"wire_bytes_rx", row.wire_bytes_rx},
            {"retransmissions", row.retransmissions},
            {"seconds_median", seconds},
            {"seconds_min", std::ranges::min(row.seconds)},
            {"seconds_max", std::ranges::max(row.seconds)},
            {"alg_gb_s", algorithm_rate},
            {"bus_gb_s", algorithm_rate * 2 * (workers - 1) / workers},
            {"exact", row.right_ranks == subject.workers}};
}

}  // namespace sumwire::apps
