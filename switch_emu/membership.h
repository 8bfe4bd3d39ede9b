// Joining and leaving: who belongs to which job.
//
// A job name has at most one running session and one gathering of its next generation. A rank that
// left may join the next generation while others of the old one still finish; the old one ends as
// lost if they are still there when the next begins. A newcomer for a rank that is still there
// claims it (rival_claim.h): it is refused if the holder lives, else the old generation is lost.
// Newcomers of another world size claim the whole generation in the same way.
//
// Leaving is silent as long as nobody needs the rank: at a clean end all ranks leave shortly after
// one another, and those that still miss a result get it. The session is lost, and every rank that
// has not left is told, once an open slot lacks a rank that left: at its leave, or when a later
// contribution opens such a slot.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>

#include "nic/control.h"
#include "nic/endpoint.h"
#include "nic/time.h"
#include "switch_emu/answers.h"
#include "switch_emu/gathering.h"
#include "switch_emu/limits.h"
#include "switch_emu/outbox.h"
#include "switch_emu/session_table.h"

namespace sumwire::aggregator {

class Membership {
  public:
    Membership(const Limits& limits, SessionTable& sessions)
        : limits_(limits), sessions_(sessions) {}

    // `ref` describes the datagram that carried the join. Answers it, but for those of ranks that
    // have left.
    void join(const JoinRef& ref, const nic::Join& join, Time now, Outbox& out);
    void leave(Session& session, std::uint16_t rank, Time now, Outbox& out);

    // Forgets gatherings whose joins stopped.
    void expire(Time now);
    Time next_deadline() const;

    bool gathering() const { return !gatherings_.empty(); }
    std::uint64_t refusals() const { return refusals_; }

  private:
    enum class Standing { settled, free };
    // How a join stands against the running session of its job.
    Standing against(Session& running, const JoinRef& ref, const nic::Join& join, Time now,
                     Outbox& out);
    Standing against_other_world(Session& running, const JoinRef& ref, const nic::Join& join,
                                 Time now, Outbox& out);
    Gathering* find(std::string_view job);
    std::size_t names() const;  // of jobs that run or gather
    // The gathering that the join belongs to. Null: the join is answered.
    Gathering* gathering_for(const JoinRef& ref, const nic::Join& join, Time now, Outbox& out);
    void begin(const Gathering& gathering, Time now, Outbox& out);
    void forget(const Gathering& gathering);
    void refuse(const JoinRef& ref, nic::Refusal code, std::string text, Outbox& out);

    Limits limits_;
    SessionTable& sessions_;
    std::list<Gathering> gatherings_;
    std::uint64_t refusals_ = 0;
};

}  // namespace sumwire::aggregator
