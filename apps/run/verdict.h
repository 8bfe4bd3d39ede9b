// Whether results are right, by sums that share no code with the library.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/run/sum_choice.h"

namespace sumwire::apps {

struct Verdict {
    std::uint64_t wrong = 0;  // elements
    std::size_t first = 0;    // the first of them
    float expected = 0;       // there
    float found = 0;
};

// Computes references when they are first needed, and keeps them.
class Judge {
  public:
    // The gradients must outlive the judge.
    Judge(std::span<const std::vector<float>> gradients, ReduceOp op)
        : gradients_(gradients), op_(op) {}

    Verdict judge(Arithmetic arithmetic, std::span<const float> result);

  private:
    std::span<const float> exact();
    std::span<const float> rank_order();
    std::span<const double> bounds();

    std::span<const std::vector<float>> gradients_;
    ReduceOp op_;
    std::optional<std::vector<float>> exact_;
    std::optional<std::vector<float>> rank_order_;
    std::optional<std::vector<double>> bounds_;
};

// The first rank whose bits differ from rank 0's.
std::optional<std::size_t> find_dissenter(std::span<const std::vector<float>> results);

}  // namespace sumwire::apps
