// The sessions that run, found by id on the datapath and by job name at joins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nic/time.h"
#include "switch_emu/limits.h"
#include "switch_emu/obituaries.h"
#include "switch_emu/outbox.h"
#include "switch_emu/session.h"
#include "switch_emu/statistics.h"

namespace sumwire::aggregator {

class SessionTable {
  public:
    SessionTable(const Limits& limits, std::function<std::uint64_t()> draw_session,
                 JobObserver observer);

    // The low bits of an id are its place in the table; the others are the secret.
    Session* find(std::uint64_t id) {
        Session* session = sessions_[id & mask_].get();
        return session != nullptr && session->id() == id ? session : nullptr;
    }
    Session* find(std::string_view job) const;
    std::size_t size() const { return running_; }
    std::size_t free_memory() const;

    // Welcomes every member. Null: there is no memory or no place for it.
    Session* start(const std::string& job, const Terms& terms, std::vector<Member> members,
                   Time now, Outbox& out);
    // Every rank has left. The session's memory stays until the next expire or free_ended.
    void finish(Session& session, Time now);
    // Tells every other rank that has not left. Likewise.
    void lose(Session& session, const nic::PeerLostNotice& lost, Time now, Outbox& out);

    // Tells every rank that has not left that the aggregator ends.
    void tell_closing(Outbox& out) const;

    const Obituary* obituary(std::uint64_t id, Time now) const { return obituaries_.find(id, now); }

    void expire(Time now, Outbox& out);
    void free_ended() { ended_.clear(); }
    Time next_deadline() const { return next_deadline_; }

    // Adds what running and ended sessions counted.
    void count(Statistics& statistics) const;
    std::vector<JobStatistics> jobs() const;

  private:
    void end(Session& session, Time now, const JobEvent& event);
    void reschedule();

    std::size_t memory_limit_;
    std::function<std::uint64_t()> draw_session_;
    JobObserver observer_;
    std::uint64_t mask_;
    std::vector<std::unique_ptr<Session>> sessions_;
    std::size_t running_ = 0;
    std::size_t memory_used_ = 0;
    std::vector<std::unique_ptr<Session>> ended_;  // answers under way point into their memory
    Time next_deadline_ = never;
    Obituaries obituaries_;
    Statistics past_;  // of sessions that ended
};

}  // namespace sumwire::aggregator
