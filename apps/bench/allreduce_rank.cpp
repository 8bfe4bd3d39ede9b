#include "apps/bench/allreduce_rank.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "nic/crc32c.h"
#include "nic/time.h"

namespace sumwire::apps {
namespace {

class RankBench {
  public:
    RankBench(const Options& options, std::span<const float> gradient)
        : communicator_(Communicator::create(options)),
          gradient_(gradient),
          buffer_(communicator_.allocate(std::max(gradient.size_bytes(), sizeof(float)))) {}

    struct Iteration {
        double seconds = 0;
        Statistics before;
        Statistics after;
    };

    Iteration iterate(const CodecChoice& choice) {
        std::memcpy(buffer_.data(), gradient_.data(), gradient_.size_bytes());
        communicator_.barrier();
        Iteration iteration;
        iteration.before = communicator_.statistics();
        const auto start = steady_now();
        communicator_
            .all_reduce(buffer_.data(), gradient_.size(), DataType::f32, ReduceOp::sum,
                        public_codec(choice.codec), public_arithmetic(choice.arithmetic))
            .wait();
        iteration.seconds = std::chrono::duration<double>(steady_now() - start).count();
        iteration.after = communicator_.statistics();
        return iteration;
    }

    std::span<const float> result() const {
        return {static_cast<const float*>(buffer_.data()), gradient_.size()};
    }

    bool is_first_rank() const { return communicator_.rank() == 0; }

    // So that no rank leaves while another still lacks a packet.
    void finish() { communicator_.barrier(); }

  private:
    Communicator communicator_;
    std::span<const float> gradient_;
    Buffer buffer_;
};

double spent(std::uint64_t Statistics::*counter, const RankBench::Iteration& iteration) {
    return static_cast<double>(iteration.after.*counter - iteration.before.*counter);
}

RankReport run_choice(RankBench& bench, const AllreducePlan& plan, const CodecChoice& choice,
                      const ExpectedSums& expected, const RankObserver& observer) {
    RankReport report;
    for (unsigned i = 0; i < plan.warmup + plan.iterations; ++i) {
        if (bench.is_first_rank())
            observer.progress(fmt::format("{} {}: iteration {} of {}", name_of(choice.codec),
                                          name_of(choice.arithmetic), i + 1,
                                          plan.warmup + plan.iterations));
        const auto iteration = bench.iterate(choice);
        report.wrong += expected.count_wrong(bench.result());
        report.digest = nic::crc32c(std::as_bytes(bench.result()), report.digest);
        if (i == 0) {
            report.first_seconds = iteration.seconds;
            report.first_wire_bytes_tx = spent(&Statistics::wire_bytes_tx, iteration);
        }
        if (i < plan.warmup) continue;
        report.seconds.push_back(iteration.seconds);
        report.wire_bytes_tx += spent(&Statistics::wire_bytes_tx, iteration) / plan.iterations;
        report.wire_bytes_rx += spent(&Statistics::wire_bytes_rx, iteration) / plan.iterations;
        report.stalls += iteration.after.stalled_chunks - iteration.before.stalled_chunks;
        report.retransmissions +=
            iteration.after.retransmissions - iteration.before.retransmissions;
    }
    return report;
}

}  // namespace

void run_allreduce_rank(const AllreducePlan& plan, const Options& options,
                        std::span<const float> gradient, std::span<const ExpectedSums> expected,
                        const RankObserver& observer) {
    RankBench bench(options, gradient);
    for (std::size_t i = 0; i < plan.choices.size(); ++i)
        observer.report(i, run_choice(bench, plan, plan.choices[i], expected[i], observer));
    bench.finish();
}

}  // namespace sumwire::apps
