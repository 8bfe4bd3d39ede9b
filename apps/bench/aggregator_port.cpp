#include "apps/bench/aggregator_port.h"

#include <fmt/core.h>
#include <pthread.h>
#include <rte_cycles.h>
#include <time.h>

#include <atomic>
#include <exception>
#include <filesystem>
#include <latch>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "apps/bench/load_worker.h"
#include "apps/bench/statistics.h"
#include "apps/support/temporary_directory.h"
#include "nic/port_spec.h"
#include "switch_emu/aggregator_loop.h"

namespace sumwire::apps {
namespace {

using namespace std::chrono_literals;

constexpr Time warm_up = 100ms;
constexpr Time join_patience = 10s;

struct PortSpecs {
    std::string aggregator;
    std::vector<std::string> workers;
};

PortSpecs port_specs(LoadPort port, unsigned workers, const std::filesystem::path& sockets) {
    // Devices and networks keep their names for the life of the process: each run has its own.
    static unsigned run = 0;
    ++run;
    PortSpecs specs;
    for (unsigned rank = 0; rank < workers; ++rank) {
        switch (port) {
            case LoadPort::inproc:
                specs.aggregator = fmt::format("inproc:bench{}", run);
                specs.workers.push_back(specs.aggregator);
                break;
            case LoadPort::udp:
                specs.aggregator = "udp:bind=127.0.0.1";
                specs.workers.push_back(specs.aggregator);
                break;
            case LoadPort::memif: {
                // A socket for each link: a client that starts in the server's own process must
                // find room in the queue of connections, as nobody takes them out meanwhile.
                const auto socket = sockets / fmt::format("link{}.sock", rank);
                const auto link = [&](std::string_view role, unsigned host) {
                    return fmt::format(
                        "dpdk:net_memif{}{}{},role={},socket={},socket-abstract=no;"
                        "ip=10.{}.{}.{};port={}",
                        role, run, rank, role, socket.string(), run % 256, rank, host,
                        nic::default_udp_port);
                };
                specs.aggregator += (rank > 0 ? " + " : "") + link("server", 1);
                specs.workers.push_back(link("client", 2));
                break;
            }
        }
    }
    return specs;
}

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
    PortBench(LoadPort port, const LoadSpec& spec, nic::Polling polling)
        : load_(spec),
          joined_(spec.workers + 1),
          finished_(spec.workers),
          results_(spec.workers),
          errors_(spec.workers + 1) {
        const auto specs = port_specs(port, spec.workers, directory_.path());
        port_ = nic::open_port(specs.aggregator, {});
        loop_ = std::make_unique<aggregator::AggregatorLoop>(
            *port_, aggregator::AggregatorLoop::Options{.limits = {},
                                                        .polling = polling,
                                                        .pollers = spec.workers + 1,
                                                        .finish_after_last_job = false,
                                                        .observer = {}});
        for (unsigned rank = 0; rank < spec.workers; ++rank) {
            // A composite of links: each worker's own is the one to reach the aggregator at.
            auto to = port_->info().local;
            if (port == LoadPort::memif) to.address += rank << 8U;
            to.link = 0;
            workers_.push_back(std::make_unique<LoadWorker>(
                nic::open_port(specs.workers[rank], {.udp_port = 0, .peer = to}), to, rank, load_,
                nic::IdleStrategy(polling, spec.workers + 1)));
        }
    }

    PortResult run(double seconds) {
        std::jthread aggregator([this](const std::stop_token& stop) {
            guarded(load_.spec().workers, [&] { loop_->run(stop); });
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

    TemporaryDirectory directory_;
    AggregatorLoad load_;
    LoadSchedule schedule_;
    std::unique_ptr<nic::PacketPort> port_;
    std::unique_ptr<aggregator::AggregatorLoop> loop_;
    std::vector<std::unique_ptr<LoadWorker>> workers_;
    std::latch joined_;
    std::atomic<bool> started_{false};
    std::latch finished_;
    std::vector<LoadWorkerResult> results_;
    std::vector<std::exception_ptr> errors_;  // of the workers, then of the aggregator
};

}  // namespace

LoadPort parse_load_port(std::string_view text) {
    for (const auto port : {LoadPort::inproc, LoadPort::udp, LoadPort::memif})
        if (text == to_string(port)) return port;
    throw std::invalid_argument(fmt::format("--port {}: unknown; use inproc, udp or memif", text));
}

std::string_view to_string(LoadPort port) {
    switch (port) {
        case LoadPort::inproc:
            return "inproc";
        case LoadPort::udp:
            return "udp";
        case LoadPort::memif:
            return "memif";
    }
    return "";
}

std::string_view describe(LoadPort port) {
    switch (port) {
        case LoadPort::inproc:
            return "memory of one process, NO NETWORK";
        case LoadPort::udp:
            return "kernel UDP sockets on loopback, NO NETWORK";
        case LoadPort::memif:
            return "DPDK memif, shared memory, NO NETWORK";
    }
    return "";
}

PortResult measure_aggregator_port(LoadPort port, const LoadSpec& spec, nic::Polling polling,
                                   double seconds) {
    return PortBench(port, spec, polling).run(seconds);
}

}  // namespace sumwire::apps
