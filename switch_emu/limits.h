// What an aggregator may spend, and the waits that are the same for every job.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "nic/time.h"

namespace sumwire::aggregator {

struct Limits {
    std::uint16_t jobs = 64;
    std::uint16_t slots_per_job = 1024;    // power of two, at least nic::min_slots
    std::uint16_t payload_bytes = 8192;    // largest data payload; multiple of 64
    std::size_t memory_bytes = 1U << 30U;  // slot memory of all jobs together
    // What the port holds before it drops, in bytes of datagrams; 0: it does not drop. A job gets
    // no more slots than fit in there when all its ranks send at once, but for nic::min_slots.
    std::size_t receive_capacity = 0;
    // Jobs that lack a rank are forgotten when no join came for this long.
    Time gathering_timeout = std::chrono::seconds(10);
};

// A newcomer gets a rank, or a job's name, that somebody else holds once the holder was silent for
// this long after the newcomer asked. Workers repeat joins and heartbeats at least twice in this
// time.
inline constexpr Time rival_patience = std::chrono::seconds(1);

// A rank whose joins stopped for this long counts as missing until it joins again, so that a
// session never begins with a process that gave up.
inline constexpr Time join_freshness = std::chrono::seconds(3);

// Peer timeouts above are lowered to this.
inline constexpr std::chrono::milliseconds max_peer_timeout{3'600'000};

// Sessions that were lost are remembered for this long, so that a rank that missed the notice and
// asks again is told.
inline constexpr Time obituary_lifetime = std::chrono::seconds(60);

}  // namespace sumwire::aggregator
