#include "apps/run/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "apps/support/statistics.h"

namespace sumwire::apps {
namespace {

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

void print_head(const SumSubject& subject, const std::string& description) {
    fmt::print("{}{}{}: {} elements ({} bytes dense), {} workers\n{}\n\n", subject.model,
               subject.step.empty() ? "" : " ", subject.step,
               with_separators(static_cast<double>(subject.elements)),
               with_separators(subject.dense_bytes()), subject.workers, description);
    fmt::print(layout, "codec", "arithmetic", "sent B/worker", "of dense", "recv B/worker",
               "of dense", "time ms", "resent", "right");
    std::fflush(stdout);
}

void print_row(const SumSubject& subject, const SumRow& row) {
    fmt::print(layout, name_of(row.choice.codec), name_of(row.choice.arithmetic),
               with_separators(row.wire_bytes_tx), share(row.wire_bytes_tx, subject.dense_bytes()),
               with_separators(row.wire_bytes_rx), share(row.wire_bytes_rx, subject.dense_bytes()),
               fmt::format("{:.1f}", 1000 * median(row.seconds)), row.retransmissions,
               fmt::format("{} of {} ranks", row.right_ranks, subject.workers));
    std::fflush(stdout);
}

void print_legend(const SumSubject& subject, const std::vector<SumChoice>& choices) {
    const auto uses = [&](Arithmetic arithmetic) {
        return std::ranges::any_of(
            choices, [&](const SumChoice& choice) { return choice.arithmetic == arithmetic; });
    };
    fmt::print(
        "\nBytes include Ethernet, IP, UDP and Sumwire headers. Right means, by an "
        "independent {}:\n",
        name_of(subject.op));
    if (subject.op == ReduceOp::minimum || subject.op == ReduceOp::maximum) {
        fmt::print("  every bit is that of the {} of all ranks\n", name_of(subject.op));
    } else {
        if (uses(Arithmetic::exact))
            fmt::print("  exact    every bit is that of the correctly rounded {}\n",
                       name_of(subject.op));
        if (uses(Arithmetic::f32))
            fmt::print("  f32      every bit is that of the float {} in rank order\n",
                       name_of(subject.op));
        if (uses(Arithmetic::fixed32))
            fmt::print("  fixed32  every element is within the stated bound\n");
    }
    fmt::print(
        "in every iteration, and that all ranks hold the same bits; any NaN equals any "
        "NaN.\n");
}

}  // namespace sumwire::apps
