// Time as every state machine sees it: a value passed in by the caller, never read from a clock.
#pragma once

#include <chrono>

namespace sumwire {

// Nanoseconds since an arbitrary epoch. Monotonic within one process; never sent on the wire.
using Time = std::chrono::nanoseconds;

// "Never": later than any deadline.
inline constexpr Time never = Time::max();

// A wait from now on; never, if it is longer than Time can tell: coarser units reach further.
template <class Rep, class Period>
constexpr Time deadline_after(Time now, std::chrono::duration<Rep, Period> wait) {
    using Unit = std::chrono::duration<Rep, Period>;
    const auto left = std::chrono::floor<Unit>(now > Time::zero() ? never - now : never);
    return wait < left ? now + std::chrono::duration_cast<Time>(wait) : never;
}

// The one clock that processes and threads hand to the state machines. Thread-safe.
inline Time steady_now() {
    return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace sumwire
