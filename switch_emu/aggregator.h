// The aggregator as a pure state machine: datagrams and the time in, datagrams and deadlines out.
// No I/O, no clock, no threads: it runs the same in the DPDK process, embedded in a trainer, and in
// a simulator.
//
// A job has `slots` slots in two versions. A worker that sends sequence s to a slot's version
// proves that it has the result of s's predecessor in the other version, and so that every rank has
// contributed there, hence has the result that this version held before: the version may be reused.
// The first arrival opens it, further ones combine, the last one is answered to every rank. A
// duplicate is answered with the result (complete) or with `pending` (not yet), and then ranks that
// are missing are reminded. Anything from a
// stranger, of another session or out of date changes nothing and is counted. slot_table.h has the
// rule in full, membership.h says how ranks join, leave and are lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "nic/endpoint.h"
#include "nic/time.h"
#include "switch_emu/limits.h"
#include "switch_emu/outbox.h"
#include "switch_emu/statistics.h"

namespace sumwire::aggregator {

class Aggregator {
  public:
    // `draw_session` returns unguessable ids (random_session, or a seeded generator in tests); the
    // aggregator replaces their lowest bits. `observer` may be empty.
    // Throws std::invalid_argument if the limits contradict themselves.
    Aggregator(const Limits& limits, std::function<std::uint64_t()> draw_session,
               JobObserver observer = {});
    ~Aggregator();
    Aggregator(const Aggregator&) = delete;
    Aggregator& operator=(const Aggregator&) = delete;

    // Takes one datagram and adds the answers to `out`: at most one for every rank of its job.
    // Payloads of answers point into slot memory or into `out`: they stay valid until the next call
    // of expire or free_ended, or the outbox is cleared, and what an addressee still needs stays
    // unchanged. Never allocates for a data packet, provided that `out` has room.
    void receive(const nic::Endpoint& from, std::span<const std::byte> datagram, Time now,
                 Outbox& out);

    // Declares silent ranks lost and forgets gatherings whose joins stopped. Call when
    // next_deadline has come, after the datagrams that came before it were handed in, and after
    // earlier answers were sent.
    void expire(Time now, Outbox& out);
    Time next_deadline() const;

    // Tells every rank of every running job that the aggregator ends. It must not be used
    // afterwards.
    void close(Outbox& out) const;

    // Frees the memory of jobs that have ended. Call after answers were sent and the outbox was
    // cleared; expire does it too.
    void free_ended();

    // No job runs or gathers.
    bool idle() const;

    Statistics statistics() const;
    std::vector<JobStatistics> jobs() const;  // those that run now

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// 64 bits from the kernel's random source, never 0. Thread-safe. Throws std::system_error.
std::uint64_t random_session();

}  // namespace sumwire::aggregator
