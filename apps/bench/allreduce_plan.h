// What every rank of an allreduce benchmark does, and what it reports: the words between the
// program that starts a run and its ranks, which are threads or processes.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/bench/codec_choice.h"
#include "sumwire/communicator.h"

namespace sumwire::apps {

// One set of gradients, summed with every choice in turn in one session.
struct AllreducePlan {
    std::vector<CodecChoice> choices;
    unsigned warmup = 2;  // at least 1
    unsigned iterations = 10;
};

// One choice on one rank.
struct RankReport {
    std::vector<double> seconds;  // of each timed iteration
    double first_seconds = 0;     // of the first iteration, before anything is known
    // Of one iteration, headers included: the average of the timed ones, and the first.
    double wire_bytes_tx = 0;
    double wire_bytes_rx = 0;
    double first_wire_bytes_tx = 0;
    std::uint64_t wrong = 0;            // elements, over all iterations
    std::uint64_t stalls = 0;           // chunks, over the timed iterations
    std::uint64_t retransmissions = 0;  // over the timed iterations
    std::uint32_t digest = 0;           // of the bits of all results
};

void to_json(nlohmann::json& json, const RankReport& report);
void from_json(const nlohmann::json& json, RankReport& report);
void to_json(nlohmann::json& json, const AllreducePlan& plan);
void from_json(const nlohmann::json& json, AllreducePlan& plan);

}  // namespace sumwire::apps
