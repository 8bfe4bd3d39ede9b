// A synthetic worker: keeps a window of contributions under way at an aggregator, checks what comes
// back, and takes the time from sending a contribution to its result.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "apps/bench/aggregator_load.h"
#include "nic/polling.h"
#include "nic/port.h"
#include "nic/time.h"

namespace sumwire::apps {

// Common to all workers of a run, which agree on the end through `end_sequence`: rank 0 sets it
// once, far enough ahead that no rank can have passed it.
struct LoadSchedule {
    Time measure_from{};
    Time measure_until{};
    std::atomic<std::uint32_t> end_sequence{UINT32_MAX};
    std::atomic<bool> cancelled{false};  // a worker failed: the others give up too
};

struct LoadWorkerResult {
    std::uint64_t results = 0;              // while measuring
    std::vector<std::uint32_t> latency_ns;  // of those
    std::uint64_t retransmissions = 0;
    bool exact = true;
};

// One thread at a time. Errors are std::runtime_error that name the rank.
class LoadWorker {
  public:
    // `port` and `load` must outlive the worker. Throws nic::SetupError if the port cannot carry
    // the payload.
    LoadWorker(nic::PacketPort& port, const nic::Endpoint& aggregator, unsigned rank,
               const AggregatorLoad& load, nic::IdleStrategy idle);

    void join(Time deadline);
    LoadWorkerResult run(LoadSchedule& schedule);
    void leave();

  private:
    struct Slot {
        std::uint32_t sequence = 0;
        Time first_sent{};
        Time last_sent{};
        bool in_flight = false;
        bool queued = false;
    };

    void queue(unsigned slot);
    bool transmit();
    bool receive(LoadSchedule& schedule);
    void take(const nic::RxPacket& packet, Time now, LoadSchedule& schedule);
    void complete(unsigned slot, Time now, LoadSchedule& schedule);
    void resend_overdue(Time now);
    bool send(std::span<const std::byte> datagram);
    bool receive_welcome(std::size_t sent_bytes);

    static constexpr std::size_t burst = 32;

    nic::PacketPort& port_;
    nic::Endpoint aggregator_;
    unsigned rank_;
    const AggregatorLoad& load_;
    nic::IdleStrategy idle_;
    std::unique_ptr<nic::MemoryRegion> region_;
    std::uint64_t nonce_;  // tells this join's answers from an earlier one's on the same port
    std::uint64_t session_ = 0;

    std::vector<Slot> slots_;
    std::vector<unsigned> queue_;
    unsigned in_flight_ = 0;
    std::uint32_t highest_sequence_ = 0;
    LoadWorkerResult result_;
};

}  // namespace sumwire::apps
