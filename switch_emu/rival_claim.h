// A newcomer's claim to what somebody else holds: a rank, or the name of a job that has another
// world size.
//
// The holder may be alive (two processes were given one rank, two jobs one name) or dead (the
// newcomer is its restart). Only what happens after the claim tells: a live holder is soon heard
// again.
#pragma once

#include <optional>

#include "nic/time.h"
#include "switch_emu/limits.h"

namespace sumwire::aggregator {

class RivalClaim {
  public:
    enum class Verdict { wait, holder_lives, holder_gone };

    // A rival asks (again). `holder_heard`: when the holder was last heard.
    Verdict judge(Time holder_heard, Time now) {
        if (since_.has_value()) {
            const bool lives = holder_heard > *since_;
            const Time age = now - *since_;
            if (!lives && age < rival_patience) return Verdict::wait;
            if (!lives || age <= rival_patience) {
                since_.reset();
                return lives ? Verdict::holder_lives : Verdict::holder_gone;
            }
        }
        // The first claim, or one long ago that nobody pursued.
        since_ = now;
        return Verdict::wait;
    }

    // The holder has not been heard since the claim.
    bool open(Time holder_heard) const { return since_.has_value() && holder_heard <= *since_; }

  private:
    std::optional<Time> since_;
};

}  // namespace sumwire::aggregator
