#include "apps/bench/aggregator_port.h"

#include <pthread.h>
#include <rte_cycles.h>
#include <time.h>

#include <atomic>
#include <exception>
#include <latch>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "apps/bench/load_worker.h"
#include "apps/support/statistics.h"
#include "switch_emu/aggregator_loop.h"

namespace sumwire::apps {
namespace {

using namespace std::chrono_literals;

constexpr Time warm_up = 100ms;
constexpr Time join_patience = 10s;

double cpu_seconds(std::jthread& thread) {
    clockid_t clock{};
    timespec time{};
    if (pthread_getcpuclockid(thread.native_handle(), &clock) != 0) return 0;
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void sleep_until(Time time) {
    const auto now = steady_now();
    if (time > now) std::this_thread::sleep_for(time - now);
}

class PortBench {
  public:
    PortBench(const LoadNetwork& network, const LoadSpec& spec, nic::Polling polling)
        : load_(spec),
          loop_(network.aggregator(), {.limits = {},
                                       .polling = polling,
                                       .pollers = spec.workers + 1,
                                       .finish_after_last_job = false,
                                       .observer = {}}),
          joined_(spec.workers + 1),
          finished_(spec.workers),
          results_(spec.workers),
          errors_(spec.workers + 1) {
        for (unsigned rank = 0; rank < spec.workers; ++rank)
            workers_.push_back(std::make_unique<LoadWorker>(
                network.worker(rank), network.aggregator_address(rank), rank, load_,
                nic::IdleStrategy(polling, spec.workers + 1)));
    }

    PortResult run(double seconds) {
        std::jthread aggregator([this](const std::stop_token& stop) {
            guarded(load_.spec().workers, [&] { loop_.run(stop); });
        });
        std::vector<std::jthread> threads;
        for (unsigned rank = 0; rank < load_.spec().workers; ++rank)
            threads.emplace_back([this, rank] { run_worker(rank); });

        schedule_.measure_from = never;
        schedule_.measure_until = never;
        joined_.arrive_and_wait();
        return measure(aggregator, threads, seconds);
    }

  private:
    template <typename F>
    void guarded(std::size_t thread, F f) {
        try {
            f();
        } catch (...) {
            errors_[thread] = std::current_exception();
            schedule_.cancelled = true;
        }
    }

    void run_worker(unsigned rank) {
        guarded(rank, [&] { workers_[rank]->join(steady_now() + join_patience); });
        joined_.arrive_and_wait();
        started_.wait(false);
        if (!schedule_.cancelled)
            guarded(rank, [&] { results_[rank] = workers_[rank]->run(schedule_); });
        // Whoever leaves while others still lack a result ends the job for them.
        finished_.arrive_and_wait();
        workers_[rank]->leave();
    }

    PortResult measure(std::jthread& aggregator, std::vector<std::jthread>& threads,
                       double seconds) {
        schedule_.measure_from = steady_now() + warm_up;
        schedule_.measure_until =
            schedule_.measure_from +
            std::chrono::duration_cast<Time>(std::chrono::duration<double>(seconds));
        started_ = true;
        started_.notify_all();

        sleep_until(schedule_.measure_from);
        const auto cycles = rte_rdtsc();
        const auto start = steady_now();
        const auto cpu = cpu_seconds(aggregator);
        sleep_until(schedule_.measure_until);
        const auto busy = cpu_seconds(aggregator) - cpu;
        const auto elapsed = std::chrono::duration<double>(steady_now() - start).count();
        const auto cycles_per_second = static_cast<double>(rte_rdtsc() - cycles) / elapsed;
        threads.clear();
        aggregator.request_stop();
        aggregator.join();
        for (const auto& error : errors_)
            if (error) std::rethrow_exception(error);
        return summarise(seconds, busy * cycles_per_second);
    }

    PortResult summarise(double seconds, double aggregator_cycles) {
        PortResult summary{.exact = true};
        std::vector<std::uint32_t> latencies;
        for (const auto& result : results_) {
            latencies.insert(latencies.end(), result.latency_ns.begin(), result.latency_ns.end());
            summary.retransmissions += result.retransmissions;
            summary.exact &= result.exact;
        }
        if (latencies.empty())
            throw std::runtime_error("no result came back while measuring; try a longer --seconds");
        const auto packets = static_cast<double>(latencies.size());
        summary.packets_per_s = packets / seconds;
        summary.payload_gbit_s =
            summary.packets_per_s * static_cast<double>(load_.spec().payload_bytes) * 8e-9;
        summary.cycles_per_packet = aggregator_cycles / packets;
        summary.latency_p50_us = quantile(latencies, 0.5) * 1e-3;
        summary.latency_p99_us = quantile(latencies, 0.99) * 1e-3;
        summary.latency_p999_us = quantile(latencies, 0.999) * 1e-3;
        return summary;
    }

    AggregatorLoad load_;
    LoadSchedule schedule_;
    aggregator::AggregatorLoop loop_;
    std::vector<std::unique_ptr<LoadWorker>> workers_;
    std::latch joined_;
    std::atomic<bool> started_{false};
    std::latch finished_;
    std::vector<LoadWorkerResult> results_;
    std::vector<std::exception_ptr> errors_;  // of the workers, then of the aggregator
};

}  // namespace

PortResult measure_aggregator_port(const LoadNetwork& network, const LoadSpec& spec,
                                   nic::Polling polling, double seconds) {
    return PortBench(network, spec, polling).run(seconds);
}

}  // namespace sumwire::apps
