// The default floating-point environment for as long as it lives: rounding to nearest, subnormals
// kept. What the process chose otherwise (-ffast-math's start-up code flushes subnormals) comes
// back on destruction.
#pragma once

#include <cfenv>

namespace sumwire::gpu {

class FloatEnvironment {
  public:
    FloatEnvironment() {
        std::fegetenv(&before_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~FloatEnvironment() { std::fesetenv(&before_); }
    FloatEnvironment(const FloatEnvironment&) = delete;
    FloatEnvironment& operator=(const FloatEnvironment&) = delete;

  private:
    std::fenv_t before_{};
};

}  // namespace sumwire::gpu
