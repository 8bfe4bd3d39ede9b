// What an aggregator counts, and the events in the life of a job.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace sumwire::aggregator {

struct JobStatistics {
    std::string name;
    std::uint64_t session = 0;
    std::uint16_t world_size = 0;
    std::uint64_t contributions = 0;  // first arrivals
    std::uint64_t payload_bytes = 0;  // of those
    std::uint64_t results = 0;        // slots completed
    std::uint64_t duplicates = 0;
    std::uint64_t stale = 0;  // of an earlier use of the slot
};

struct Statistics {
    std::uint64_t datagrams = 0;
    // No valid header, sizes that do not fit, wrong checksum, or at odds with what other ranks
    // sent.
    std::uint64_t malformed = 0;
    std::uint64_t strangers = 0;  // unknown session, or not from the rank's address
    std::uint64_t joins = 0;
    std::uint64_t refusals = 0;
    std::uint64_t jobs_started = 0;
    std::uint64_t jobs_finished = 0;  // every rank left
    std::uint64_t jobs_lost = 0;      // a rank fell silent or left while others needed it
    std::uint64_t contributions = 0;
    std::uint64_t payload_bytes = 0;
    std::uint64_t results = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t stale = 0;
};

struct JobEvent {
    enum class Kind : std::uint8_t { started, finished, lost };

    Kind kind{};
    JobStatistics job;
    std::uint16_t lost_rank = 0;  // of Kind::lost
    bool left = false;            // of Kind::lost: the rank left by itself
};

// Called while the aggregator handles a datagram or a deadline; must not call it back or throw.
using JobObserver = std::function<void(const JobEvent&)>;

}  // namespace sumwire::aggregator
