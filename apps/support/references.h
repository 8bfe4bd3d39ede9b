// The results that a set of gradients must come out as, in each arithmetic.
#pragma once

#include <optional>
#include <vector>

#include "apps/support/reference_sum.h"
#include "apps/support/verdict.h"
#include "sumwire/communicator.h"

namespace sumwire::apps {

// Computed when first asked for, then kept: choices share them.
class References {
  public:
    // The gradients must outlive the references.
    References(RankValues gradients, ReduceOp op) : gradients_(gradients), op_(op) {}

    // Valid as long as the references. Minima and maxima know no arithmetic.
    ExpectedSums of(Arithmetic arithmetic);

  private:
    RankValues gradients_;
    ReduceOp op_;
    std::optional<std::vector<float>> exact_;
    std::optional<std::vector<float>> rank_order_;
    std::optional<std::vector<double>> bounds_;
};

}  // namespace sumwire::apps
