// Round-trip time from the samples of packets that were sent once (RFC 6298 smoothing).
#pragma once

#include <algorithm>

#include "nic/time.h"

namespace sumwire::runtime {

class RttEstimator {
  public:
    // A result also waits for the slowest rank, so samples are what a packet really takes.
    void add(Time sample) {
        if (smoothed_ == Time::zero()) {
            smoothed_ = sample;
            variation_ = sample / 2;
            return;
        }
        const Time error = sample > smoothed_ ? sample - smoothed_ : smoothed_ - sample;
        variation_ += (error - variation_) / 4;
        smoothed_ += (sample - smoothed_) / 8;
    }

    // Zero before the first sample.
    Time smoothed() const { return smoothed_; }

    // How long to wait for a result before sending again.
    Time timeout() const {
        if (smoothed_ == Time::zero()) return initial_timeout;
        return std::clamp(smoothed_ + 4 * variation_, min_timeout, max_timeout);
    }

    // Below a scheduler's time slice, a timeout measures the machine's load, not a loss.
    static constexpr Time min_timeout = std::chrono::milliseconds(5);
    static constexpr Time initial_timeout = std::chrono::milliseconds(50);
    static constexpr Time max_timeout = std::chrono::milliseconds(500);

  private:
    Time smoothed_{};
    Time variation_{};
};

}  // namespace sumwire::runtime
