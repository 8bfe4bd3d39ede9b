// What one rank does with its gradient, and what it reports.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/run/sum_choice.h"

namespace sumwire::apps {

struct RankTask {
    SumChoice choice;
    ReduceOp op = ReduceOp::sum;
    unsigned iterations = 1;
    Polling polling = Polling::automatic;
    std::size_t payload_bytes = 0;
    std::optional<std::chrono::milliseconds> deadline;
};

struct RankReport {
    std::vector<double> seconds;  // of each iteration
    // Of one iteration, headers included: the average.
    double wire_bytes_tx = 0;
    double wire_bytes_rx = 0;
    std::uint64_t retransmissions = 0;
    std::uint64_t stalled_chunks = 0;
    bool repeatable = true;   // every iteration had the bits of the first
    std::string description;  // the communicator's own line
};

void to_json(nlohmann::json& json, const RankTask& task);
void from_json(const nlohmann::json& json, RankTask& task);
void to_json(nlohmann::json& json, const RankReport& report);
void from_json(const nlohmann::json& json, RankReport& report);

// Sums the gradient with the other ranks, into `result`, which has its length. `options` say where
// the rank stands; the task fills in the rest. Throws what the communicator throws.
RankReport run_rank(const RankTask& task, Options options, std::span<const float> gradient,
                    std::span<float> result);

}  // namespace sumwire::apps
