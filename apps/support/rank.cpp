#include "apps/support/rank.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "apps/support/npy.h"
#include "apps/support/polling_option.h"
#include "nic/crc32c.h"
#include "nic/time.h"

namespace sumwire::apps {
namespace {

Options complete(Options options, const RankTask& task) {
    options.polling = worker_polling(task.polling);
    options.payload_bytes = task.payload_bytes;
    options.float_sums = std::ranges::any_of(
        task.choices, [](const auto& choice) { return choice.arithmetic == Arithmetic::f32; });
    if (task.deadline) {
        options.deadline = *task.deadline;
        options.join_timeout = *task.deadline;
    }
    return options;
}

struct Iteration {
    double seconds = 0;
    Statistics before;
    Statistics after;

    std::uint64_t spent(std::uint64_t Statistics::*counter) const {
        return after.*counter - before.*counter;
    }
};

class Rank {
  public:
    Rank(const RankTask& task, const Options& options, std::span<const float> gradient)
        : task_(task),
          communicator_(Communicator::create(complete(options, task))),
          gradient_(gradient),
          buffer_(communicator_.allocate(std::max(gradient.size_bytes(), sizeof(float)))) {}

    RankReport run(std::size_t index, const ExpectedSums& expected, const RankObserver& observer) {
        const SumChoice& choice = task_.choices[index];
        RankReport report;
        report.description = communicator_.description();
        const unsigned all = task_.warmup + task_.iterations;
        for (unsigned i = 0; i < all; ++i) {
            if (communicator_.rank() == 0)
                observer.progress(fmt::format("{} {}: iteration {} of {}", name_of(choice.codec),
                                              name_of(choice.arithmetic), i + 1, all));
            const Iteration iteration = iterate(choice, index);
            check(i, expected, report);
            if (i == 0) {
                report.first_seconds = iteration.seconds;
                report.first_wire_bytes_tx =
                    static_cast<double>(iteration.spent(&Statistics::wire_bytes_tx));
            }
            if (i >= task_.warmup) count(iteration, report);
        }
        if (!task_.output_directory.empty()) write(choice);
        return report;
    }

    // So that no rank leaves while another still lacks a packet.
    void finish() { communicator_.barrier(); }

  private:
    std::span<const float> result() const {
        return {static_cast<const float*>(buffer_.data()), gradient_.size()};
    }

    // The tag keeps what one choice learns of the gradient from the next one.
    Iteration iterate(const SumChoice& choice, std::uint64_t tag) {
        if (!gradient_.empty())
            std::memcpy(buffer_.data(), gradient_.data(), gradient_.size_bytes());
        communicator_.barrier();
        Iteration iteration;
        iteration.before = communicator_.statistics();
        const auto start = steady_now();
        communicator_
            .all_reduce(buffer_.data(), gradient_.size(), DataType::f32, task_.op,
                        {.codec = choice.codec, .arithmetic = choice.arithmetic, .tag = tag})
            .wait();
        iteration.seconds = std::chrono::duration<double>(steady_now() - start).count();
        iteration.after = communicator_.statistics();
        return iteration;
    }

    void check(unsigned iteration, const ExpectedSums& expected, RankReport& report) const {
        const auto wrong_before = report.verdict.wrong;
        const Verdict verdict = expected.judge(result());
        if (wrong_before == 0) report.verdict = verdict;
        report.verdict.wrong = wrong_before + verdict.wrong;
        const auto digest = nic::crc32c(std::as_bytes(result()));
        if (iteration == 0) report.digest = digest;
        report.repeatable &= digest == report.digest;
    }

    void count(const Iteration& iteration, RankReport& report) const {
        const double share = 1.0 / task_.iterations;
        report.seconds.push_back(iteration.seconds);
        report.wire_bytes_tx +=
            static_cast<double>(iteration.spent(&Statistics::wire_bytes_tx)) * share;
        report.wire_bytes_rx +=
            static_cast<double>(iteration.spent(&Statistics::wire_bytes_rx)) * share;
        report.retransmissions += iteration.spent(&Statistics::retransmissions);
        report.stalled_chunks += iteration.spent(&Statistics::stalled_chunks);
        report.dense_chunks += iteration.spent(&Statistics::dense_chunks);
        report.packed_chunks += iteration.spent(&Statistics::packed_chunks);
        report.sketch_chunks += iteration.spent(&Statistics::sketch_chunks);
    }

    void write(const SumChoice& choice) const {
        write_npy(
            task_.output_directory / fmt::format("{}-{}-rank{}.npy", name_of(choice.codec),
                                                 name_of(choice.arithmetic), communicator_.rank()),
            result());
    }

    const RankTask& task_;
    Communicator communicator_;
    std::span<const float> gradient_;
    Buffer buffer_;
};

}  // namespace

void run_rank(const RankTask& task, const Options& options, std::span<const float> gradient,
              std::span<const ExpectedSums> expected, const RankObserver& observer) {
    Rank rank(task, options, gradient);
    for (std::size_t i = 0; i < task.choices.size(); ++i)
        observer.report(i, rank.run(i, expected[i], observer));
    rank.finish();
}

}  // namespace sumwire::apps
