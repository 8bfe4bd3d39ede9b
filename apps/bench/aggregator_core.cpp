#include "apps/bench/aggregator_core.h"

#include <rte_cycles.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "apps/bench/plain_combine.h"
#include "apps/support/statistics.h"
#include "nic/control.h"
#include "nic/time.h"
#include "switch_emu/aggregator.h"

namespace sumwire::apps {
namespace {

using Seconds = std::chrono::duration<double>;

class CoreBench {
  public:
    explicit CoreBench(const LoadSpec& spec)
        : load_(spec),
          outbox_(2U * spec.slots * spec.workers),
          aggregator_({.slots_per_job = aggregator::Limits{}.slots_per_job,
                       .payload_bytes = static_cast<std::uint16_t>(spec.payload_bytes)},
                      [] { return 0x5357'5357'5357'5357ULL; }),
          accumulators_(gpu::host_device().allocate(spec.slots * spec.payload_bytes)) {
        join();
    }

    struct Sweep {
        double seconds = 0;
        double cycles = 0;
        double plain_seconds = 0;
        bool exact = false;
    };

    Sweep sweep() {
        write_headers();
        outbox_.clear();
        Sweep result;
        const auto now = steady_now();
        const auto start_cycles = rte_rdtsc();
        for (unsigned slot = 0; slot < load_.spec().slots; ++slot)
            for (unsigned rank = 0; rank < load_.spec().workers; ++rank)
                aggregator_.receive(address(rank), load_.datagram(version(), slot, rank), now,
                                    outbox_);
        result.cycles = static_cast<double>(rte_rdtsc() - start_cycles);
        result.seconds = Seconds(steady_now() - now).count();
        result.exact = results_right();
        result.plain_seconds = plain_sweep();
        sequence_ += load_.spec().slots;
        return result;
    }

  private:
    static nic::Endpoint address(unsigned rank) {
        return {.address = 0x0A000001 + rank, .port = 1};
    }

    bool version() const { return (sequence_ / load_.spec().slots) % 2 == 1; }

    void join() {
        for (unsigned rank = 0; rank < load_.spec().workers; ++rank)
            aggregator_.receive(address(rank), join_datagram(load_.spec(), rank, rank),
                                steady_now(), outbox_);
        const auto header =
            outbox_.empty() ? std::nullopt : nic::read_header(outbox_.packets().back().header);
        if (!header || header->type != nic::PacketType::welcome)
            throw std::runtime_error("the aggregator did not welcome the synthetic workers");
        session_ = header->session;
    }

    void write_headers() {
        for (unsigned slot = 0; slot < load_.spec().slots; ++slot)
            for (unsigned rank = 0; rank < load_.spec().workers; ++rank)
                nic::write_header(load_.header(sequence_ + slot, rank, session_),
                                  load_.datagram(version(), slot, rank).first<nic::header_bytes>());
    }

    bool results_right() const {
        if (outbox_.packets().size() != std::size_t{load_.spec().slots} * load_.spec().workers)
            return false;
        return std::ranges::all_of(outbox_.packets(), [&](const aggregator::Outgoing& packet) {
            const auto header = nic::read_header(packet.header);
            return header && header->type == nic::PacketType::result &&
                   std::ranges::equal(packet.payload, load_.expected(version(), header->slot));
        });
    }

    double plain_sweep() {
        const auto bytes = load_.spec().payload_bytes;
        const auto start = steady_now();
        for (unsigned slot = 0; slot < load_.spec().slots; ++slot) {
            const auto accumulator = accumulators_.bytes().subspan(slot * bytes, bytes);
            std::memcpy(accumulator.data(), load_.payload(version(), slot, 0).data(), bytes);
            for (unsigned rank = 1; rank < load_.spec().workers; ++rank)
                plain_combine(load_.spec().op, accumulator, load_.payload(version(), slot, rank));
        }
        return Seconds(steady_now() - start).count();
    }

    AggregatorLoad load_;
    aggregator::Outbox outbox_;
    aggregator::Aggregator aggregator_;
    gpu::DeviceBuffer accumulators_;
    std::uint64_t session_ = 0;
    std::uint32_t sequence_ = 0;
};

}  // namespace

CoreResult measure_aggregator_core(const LoadSpec& spec, double seconds) {
    constexpr int warm_up_sweeps = 3;
    CoreBench bench(spec);
    CoreResult result{.exact = true};
    for (int i = 0; i < warm_up_sweeps; ++i)
        result.exact &= bench.sweep().exact;

    const double packets = static_cast<double>(spec.slots) * spec.workers;
    const double gbit = packets * static_cast<double>(spec.payload_bytes) * 8e-9;
    std::vector<double> times;
    std::vector<double> cycles;
    std::vector<double> plain_times;
    const auto start = steady_now();
    do {
        const auto sweep = bench.sweep();
        times.push_back(sweep.seconds);
        cycles.push_back(sweep.cycles);
        plain_times.push_back(sweep.plain_seconds);
        result.exact &= sweep.exact;
    } while (Seconds(steady_now() - start).count() < seconds);

    result.packets = static_cast<std::uint64_t>(packets) * times.size();
    result.packets_per_s = packets / median(times);
    result.payload_gbit_s = gbit / median(times);
    result.cycles_per_packet = median(cycles) / packets;
    result.plain_gbit_s = gbit / median(plain_times);
    return result;
}

}  // namespace sumwire::apps
