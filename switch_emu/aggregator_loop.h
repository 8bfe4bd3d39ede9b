// Runs an aggregator on a port: receives bursts, transmits the answers, watches deadlines.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <stop_token>
#include <vector>

#include "nic/polling.h"
#include "nic/port.h"
#include "switch_emu/aggregator.h"

namespace sumwire::aggregator {

struct LoopStatistics {
    Statistics aggregator;
    std::vector<JobStatistics> jobs;  // those that run
    nic::PortCounters port;
    std::uint64_t dropped_answers = 0;  // the port stayed full; workers ask again
};

class AggregatorLoop {
  public:
    struct Options {
        // The payload is lowered to what the port can carry; receive_capacity is the port's.
        Limits limits;
        nic::Polling polling = nic::Polling::automatic;
        unsigned pollers = 2;  // see nic::IdleStrategy
        bool finish_after_last_job = false;
        JobObserver observer;  // called from the thread that runs; must not call the loop back
    };

    // The port must outlive the loop and be used by nobody else meanwhile. Throws
    // std::invalid_argument as Aggregator does, nic::SetupError if the port carries no payload.
    AggregatorLoop(nic::PacketPort& port, const Options& options);

    // Serves until stop is requested, or until nothing is left to serve and drain or
    // finish_after_last_job asked to end then. After a loss it stays two seconds longer, so that
    // every rank can learn of it. Ranks of jobs that still run are told. Once per object. Meanwhile
    // the thread has the default floating-point environment.
    void run(const std::stop_token& stop);

    // Ends run once no job runs or gathers; returns whether that came true within the patience.
    // Thread-safe; not from the thread that runs.
    bool drain(std::chrono::milliseconds patience);

    // What run has counted. Asks the running loop, which answers within 20 ms or after the burst at
    // hand. Thread-safe; not from the thread that runs.
    LoopStatistics statistics();

    const Limits& limits() const { return limits_; }

  private:
    static constexpr std::size_t burst = 64;

    bool must_expire(Time now, bool queue_is_empty);
    bool finished(Time now);
    std::size_t receive_burst(Time now);
    void transmit_answers();
    void order_answers();
    void transmit(std::span<const nic::TxPacket> packets, unsigned& attempts);
    void publish();

    enum class State { created, running, ended };

    nic::PacketPort& port_;
    Limits limits_;
    bool finish_after_last_job_;
    Aggregator aggregator_;
    nic::IdleStrategy idle_;
    Outbox outbox_;
    std::array<nic::RxPacket, burst> received_{};
    std::array<nic::TxPacket, burst> to_send_{};
    std::vector<std::uint32_t> order_;  // of the outbox
    std::array<std::uint32_t, answer_groups> group_ends_{};
    std::uint64_t dropped_answers_ = 0;
    Time overdue_since_ = never;
    Time idle_since_ = never;
    std::atomic<bool> draining_ = false;

    // Statistics on request: the hot path pays one relaxed load.
    std::atomic<bool> wanted_ = false;
    std::mutex mutex_;
    std::condition_variable changed_;
    State state_ = State::created;
    std::uint64_t publications_ = 0;
    LoopStatistics snapshot_;
};

}  // namespace sumwire::aggregator
