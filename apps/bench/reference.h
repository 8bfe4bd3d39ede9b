// The sums that a set of gradients must come out as, in each arithmetic.
#pragma once

#include <vector>

#include "apps/bench/expected_sums.h"
#include "apps/bench/gradient_set.h"
#include "gpu/codec/chunk_codec.h"

namespace sumwire::apps {

// Computed when first asked for, then kept: choices share them.
class Reference {
  public:
    // The set must outlive the reference.
    explicit Reference(const GradientSet& set) : set_(set) {}

    // Valid as long as the reference.
    ExpectedSums of(gpu::Arithmetic arithmetic);

  private:
    const GradientSet& set_;
    std::vector<float> exact_;
    std::vector<float> rank_order_;
    std::vector<double> bounds_;
};

}  // namespace sumwire::apps
