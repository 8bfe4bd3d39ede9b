// What every rank of a session does with its gradient, and what it reports.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/support/sum_choice.h"
#include "apps/support/verdict.h"

namespace sumwire::apps {

// One gradient, summed with every choice in turn.
struct RankTask {
    std::vector<SumChoice> choices = {};
    ReduceOp op = ReduceOp::sum;
    unsigned warmup = 0;      // iterations that are checked, but not timed
    unsigned iterations = 1;  // that are
    std::string polling = "auto";
    std::size_t payload_bytes = 0;  // 0: as the path allows
    std::optional<std::chrono::milliseconds> deadline = std::nullopt;
    std::filesystem::path output_directory = {};  // for each choice's result as .npy; empty: none
};

// One choice on one rank.
struct RankReport {
    std::vector<double> seconds;  // of each timed iteration
    double first_seconds = 0;     // of the very first, before anything is known
    // Of one iteration, headers included: the average of the timed ones, and the first.
    double wire_bytes_tx = 0;
    double wire_bytes_rx = 0;
    double first_wire_bytes_tx = 0;
    // Over the timed iterations.
    std::uint64_t retransmissions = 0;
    std::uint64_t stalled_chunks = 0;
    std::uint64_t dense_chunks = 0;
    std::uint64_t packed_chunks = 0;
    std::uint64_t sketch_chunks = 0;
    Verdict verdict;           // the wrong elements of all iterations, the first of them
    std::uint32_t digest = 0;  // of the bits of the first result
    bool repeatable = true;    // every iteration had these bits
    std::string description;   // the communicator's own line
};

void to_json(nlohmann::json& json, const RankTask& task);
void from_json(const nlohmann::json& json, RankTask& task);
void to_json(nlohmann::json& json, const RankReport& report);
void from_json(const nlohmann::json& json, RankReport& report);

}  // namespace sumwire::apps
