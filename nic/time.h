// Time as every state machine sees it: a value passed in by the caller, never read from a clock.
#pragma once

#include <chrono>

namespace sumwire {

// Nanoseconds since an arbitrary epoch. Monotonic within one process; never sent on the wire.
using Time = std::chrono::nanoseconds;

// "Never": later than any deadline.
inline constexpr Time never = Time::max();

// A wait from now on; never, if it is longer than Time can tell: milliseconds reach further.
constexpr Time deadline_after(Time now, std::chrono::milliseconds wait) {
    using std::chrono::milliseconds;
    const auto left = std::chrono::floor<milliseconds>(now > Time::zero() ? never - now : never);
    return wait < left ? now + wait : never;
}

// The one clock that processes and threads hand to the state machines. Thread-safe.
inline Time steady_now() {
    return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace sumwire
