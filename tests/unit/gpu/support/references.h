// What a chunk's result must be, from the gradients alone.
#pragma once

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cstdint>

#include "tests/unit/gpu/support/fake_network.h"

namespace sumwire::gpu::testing {

// Element by element: the sum in real arithmetic, divided for an average, rounded once; +0 for
// zero.
std::vector<float> exact_reference(const Gradients& gradients, Reduction reduction);

// Added in rank order in float, divided in float for an average.
std::vector<float> float_reference(const Gradients& gradients, Reduction reduction);

// Elements that some rank has; -0 is none.
std::uint32_t union_reference(const Gradients& gradients);
// The same, with those blocks of 32 whole of which some rank has all elements but one at most.
std::uint32_t packed_union_reference(const Gradients& gradients);

// NaNs count as equal; everything else by its bits.
::testing::AssertionResult same_floats(const std::vector<float>& actual,
                                       const std::vector<float>& expected);

// fixed32.h's bound, and NaN everywhere if any input is not finite.
::testing::AssertionResult within_fixed32_bound(const std::vector<float>& actual,
                                                const Gradients& gradients, Reduction reduction);

class Real {
  public:
    // Holds every sum of 2^30 floats exactly.
    Real() { mpfr_init2(value_, 400); }
    ~Real() { mpfr_clear(value_); }
    Real(const Real&) = delete;
    Real& operator=(const Real&) = delete;
    operator mpfr_ptr() { return value_; }

  private:
    mpfr_t value_;
};

}  // namespace sumwire::gpu::testing
