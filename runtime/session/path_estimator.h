// What the path to the aggregator can do: the shortest round trip and the highest rate of delivery
// among the results of the last fifth of a second or so.
//
// A packet's sample of the rate is what was delivered between its sending and its result, over that
// time. Whoever sends less than the path can carry gets samples that are too low, hence the
// highest.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nic/time.h"

namespace sumwire::runtime {

class PathEstimator {
  public:
    // Bytes of all results so far; to be kept with a packet that is sent now.
    std::uint64_t delivered() const { return delivered_; }

    void on_result(std::uint64_t bytes) { delivered_ += bytes; }
    // Of a packet that was sent once, after its on_result.
    void sample(Time sent, std::uint64_t delivered_then, Time now) {
        if (now <= sent) return;
        if (now >= recent_.began + period && recent_.samples >= least_samples) {
            earlier_ = recent_;
            recent_ = {.began = now};
        }
        const double seconds = std::chrono::duration<double>(now - sent).count();
        recent_.round_trip = std::min(recent_.round_trip, now - sent);
        recent_.rate =
            std::max(recent_.rate, static_cast<double>(delivered_ - delivered_then) / seconds);
        ++recent_.samples;
    }

    bool known() const { return recent_.samples + earlier_.samples != 0; }
    // never if unknown.
    Time round_trip() const { return std::min(recent_.round_trip, earlier_.round_trip); }
    double bytes_per_second() const { return std::max(recent_.rate, earlier_.rate); }

    // How long to wait for a result before asking for it. From the shortest round trip: most
    // results also wait for a slower rank, or for a packet that another rank lost, which would make
    // everybody patient just when losses are many. Asking too early costs one packet.
    Time timeout() const {
        if (!known()) return initial_timeout;
        return std::clamp(2 * round_trip(), min_timeout, max_timeout);
    }

    // Below a scheduler's time slice, a timeout measures the machine's load, not a loss.
    static constexpr Time min_timeout = std::chrono::milliseconds(5);
    static constexpr Time initial_timeout = std::chrono::milliseconds(50);
    static constexpr Time max_timeout = std::chrono::milliseconds(500);

  private:
    static constexpr Time period = std::chrono::milliseconds(100);
    static constexpr std::uint64_t least_samples = 64;

    struct Window {
        Time began{};
        Time round_trip = never;
        double rate = 0;
        std::uint64_t samples = 0;
    };

    std::uint64_t delivered_ = 0;
    Window recent_;
    Window earlier_;
};

}  // namespace sumwire::runtime
