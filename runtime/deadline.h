// Deadlines that callers give as durations.
#pragma once

#include <chrono>

#include "nic/time.h"

namespace sumwire::runtime {

// The end of a wait that begins now (at least zero); `never` if that lies beyond what Time holds.
template <class Rep, class Period>
Time deadline_after(Time now, std::chrono::duration<Rep, Period> wait) {
    using Duration = std::chrono::duration<Rep, Period>;
    // Compared in the caller's unit: converting a long wait to nanoseconds may overflow.
    if (wait >= std::chrono::duration_cast<Duration>(never - now)) return never;
    return now + std::chrono::duration_cast<Time>(wait);
}

}  // namespace sumwire::runtime
