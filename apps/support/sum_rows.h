// Gathers what the ranks of a session report, and turns it into rows.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/support/rank_task.h"

namespace sumwire::apps {

// What the rows of one session have in common.
struct SumSubject {
    std::string model;
    std::string step;
    std::string transport;
    std::size_t workers = 0;
    std::size_t elements = 0;
    ReduceOp op = ReduceOp::sum;

    double dense_bytes() const { return static_cast<double>(elements) * sizeof(float); }
};

// One choice over all ranks.
struct SumRow {
    SumChoice choice;
    std::vector<double> seconds;  // of each timed iteration, the slowest rank's
    double first_seconds = 0;
    double wire_bytes_tx = 0;  // the busiest rank's
    double wire_bytes_rx = 0;
    double first_wire_bytes_tx = 0;
    std::uint64_t retransmissions = 0;  // all ranks
    std::uint64_t stalled_chunks = 0;
    std::uint64_t dense_chunks = 0;
    std::uint64_t packed_chunks = 0;
    std::uint64_t sketch_chunks = 0;
    std::uint64_t wrong = 0;              // elements, all ranks
    std::size_t right_ranks = 0;          // in every iteration
    std::vector<std::string> complaints;  // "rank 1 has 2 wrong elements; ..."
    std::string description;              // rank 0's communicator

    // Every rank has the right sums, and all have the same bits.
    bool right() const { return complaints.empty(); }
};

SumRow make_row(const SumChoice& choice, const std::vector<RankReport>& reports);

nlohmann::ordered_json to_json(const SumSubject& subject, const SumRow& row);

// One thread at a time.
class SumRows {
  public:
    // `on_row` gets a row as soon as every rank has reported it.
    SumRows(std::vector<SumChoice> choices, std::size_t workers,
            std::function<void(const SumRow&)> on_row);

    void add(std::size_t rank, std::size_t choice, const RankReport& report);

    // Every row came, and all are right.
    bool all_right() const { return right_rows_ == choices_.size(); }

  private:
    std::vector<SumChoice> choices_;
    std::function<void(const SumRow&)> on_row_;
    std::vector<std::vector<std::optional<RankReport>>> reports_;  // of each choice, of each rank
    std::size_t right_rows_ = 0;
};

}  // namespace sumwire::apps
