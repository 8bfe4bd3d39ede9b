#include "switch_emu/embedded_aggregator.h"

#include <pthread.h>
#include <signal.h>

#include <cfenv>
#include <utility>

namespace sumwire::aggregator {

EmbeddedAggregator::EmbeddedAggregator(std::unique_ptr<nic::PacketPort> port,
                                       const AggregatorLoop::Options& options)
    : port_(std::move(port)),
      loop_(*port_, options),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

EmbeddedAggregator::~EmbeddedAggregator() = default;

void EmbeddedAggregator::run(const std::stop_token& stop) {
    // Float sums are those of IEEE, also where the host program flushes subnormals: threads
    // inherit that.
    std::fesetenv(FE_DFL_ENV);
    // The host program's signals are for its own threads.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    pthread_setname_np(pthread_self(), "sumwire-agg");
    try {
        loop_.run(stop);
    } catch (...) {
        failure_ = std::current_exception();
        failed_.store(true, std::memory_order_release);
    }
}

std::exception_ptr EmbeddedAggregator::failure() const {
    return failed_.load(std::memory_order_acquire) ? failure_ : nullptr;
}

LoopStatistics EmbeddedAggregator::statistics() {
    if (const auto ended = failure()) std::rethrow_exception(ended);
    return loop_.statistics();
}

void EmbeddedAggregator::finish(std::chrono::milliseconds patience) {
    if (!failure()) loop_.drain(patience);
    thread_.request_stop();
    thread_.join();
}

}  // namespace sumwire::aggregator
