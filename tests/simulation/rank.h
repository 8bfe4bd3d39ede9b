// One rank of a simulated job: the session and the engine that run in production, and a caller that
// checks every result.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nic/endpoint.h"
#include "nic/port.h"
#include "nic/time.h"
#include "runtime/engine/collective_engine.h"
#include "runtime/session/worker_session.h"
#include "tests/simulation/schedule.h"
#include "tests/simulation/virtual_network.h"

namespace sumwire::simulation {

enum class Outcome : std::uint8_t {
    running,
    completed,   // every call, with the right values
    failed,      // with a named error
    wrong_bits,  // some call ended well with other values than the reference
    stopped      // by the schedule
};

class Rank {
  public:
    // `reference[i]` is what call i must give; shared by the ranks of a job.
    Rank(const JobPlan& plan, const std::vector<std::vector<std::uint32_t>>& reference,
         std::uint16_t rank, const nic::Endpoint& own, const nic::Endpoint& aggregator,
         bool checksums, std::uint64_t seed, Time now);

    const nic::Endpoint& endpoint() const { return own_; }
    void receive(std::span<const std::byte> datagram, Time now);
    // Does all there is to do now, sends it, and says when there will be more.
    Time work(VirtualNetwork& network, Time now);
    void stop() { outcome_ = Outcome::stopped; }

    Outcome outcome() const { return outcome_; }
    // Nothing more will come of it.
    bool gone() const;
    const std::string& error() const { return error_; }
    std::uint64_t bytes_sent() const { return bytes_sent_; }

  private:
    struct Pending {
        std::vector<std::uint32_t> values;
        std::shared_ptr<runtime::Completion> completion;
    };

    void begin_calls(Time now);
    void drive(Time now);
    void check_results();
    void fail(std::string error);

    const JobPlan& plan_;
    const std::vector<std::vector<std::uint32_t>>& reference_;
    nic::Endpoint own_;
    nic::Endpoint aggregator_;
    std::unique_ptr<nic::PacketPort> no_port_;
    runtime::WorkerSession session_;
    std::unique_ptr<runtime::CollectiveEngine> engine_;
    std::uint16_t rank_;
    std::vector<Pending> calls_;
    Outcome outcome_ = Outcome::running;
    std::string error_;
    std::uint64_t bytes_sent_ = 0;
};

// What rank `rank` contributes to call `number` of the plan: whole numbers as bits of the call's
// type, so small that every arithmetic sums them exactly.
std::vector<std::uint32_t> contribution(const JobPlan& plan, std::size_t number,
                                        std::uint16_t rank);
// The values that every rank must end with, by integer arithmetic.
std::vector<std::vector<std::uint32_t>> references(const JobPlan& plan);

}  // namespace sumwire::simulation
