// What a run has shown, as a table for people and as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/run/rank_task.h"

namespace sumwire::apps {

struct Subject {
    std::string model;
    std::string step;
    std::size_t elements = 0;
    std::size_t workers = 0;
    std::string transport;

    double dense_bytes() const { return static_cast<double>(elements) * sizeof(float); }
};

// One choice of codec and arithmetic.
struct Row {
    SumChoice choice;
    std::vector<double> seconds;  // the slowest rank's, of each iteration
    double wire_bytes_tx = 0;     // of one iteration, the rank with most
    double wire_bytes_rx = 0;
    std::uint64_t retransmissions = 0;  // all ranks
    std::size_t right_ranks = 0;
};

Row make_row(const SumChoice& choice, const std::vector<RankReport>& reports);

void print_head(const Subject& subject, const std::string& description);
void print_row(const Subject& subject, const Row& row);
// What "right" means.
void print_legend(const std::vector<Row>& rows);

nlohmann::ordered_json to_json(const Subject& subject, const Row& row);

}  // namespace sumwire::apps
