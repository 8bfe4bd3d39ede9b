// How many packets may be under way.
//
// Grows by one for each result until losses come in numbers, then by one for each window's worth of
// results. Single losses are repaired, not taken for congestion: a link that damages one packet in
// a hundred is no fuller for sending less. A round trip in which more than an eighth of the packets
// was lost shrinks the window.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nic/time.h"

namespace sumwire::runtime {

class CongestionWindow {
  public:
    explicit CongestionWindow(std::uint32_t limit)
        : limit_(limit), window_(std::min<double>(limit, initial)) {}

    std::uint32_t packets() const { return static_cast<std::uint32_t>(window_); }

    void on_result() {
        ++results_;
        window_ = std::min<double>(limit_, window_ + (growing_fast_ ? 1.0 : 1.0 / window_));
    }

    void on_loss() { ++losses_; }

    // Call now and then; judges once in a round trip.
    void judge(Time now, Time round_trip) {
        if (now < next_judgement_) return;
        if (losses_ * 8 > results_ + losses_ && losses_ >= 4) {
            growing_fast_ = false;
            window_ = std::max<double>(floor(), window_ * 0.7);
        }
        results_ = losses_ = 0;
        next_judgement_ = now + std::max(round_trip, Time(std::chrono::microseconds(500)));
    }

  private:
    static constexpr double initial = 64;
    double floor() const { return std::min<double>(limit_, 8); }

    std::uint32_t limit_;
    double window_;
    bool growing_fast_ = true;
    std::uint64_t results_ = 0;
    std::uint64_t losses_ = 0;
    Time next_judgement_{};
};

}  // namespace sumwire::runtime
