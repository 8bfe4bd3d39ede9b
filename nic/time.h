// Time as every state machine sees it: a value passed in by the caller, never read from a clock.
#pragma once

#include <chrono>

namespace sumwire {

// Nanoseconds since an arbitrary epoch. Monotonic within one process; never sent on the wire.
using Time = std::chrono::nanoseconds;

// "Never": later than any deadline.
inline constexpr Time never = Time::max();

// The one clock that processes and threads hand to the state machines. Thread-safe.
inline Time steady_now() {
    return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace sumwire
