#include "switch_emu/session_table.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace sumwire::aggregator {
namespace {

void add(Statistics& statistics, const JobStatistics& job) {
    statistics.contributions += job.contributions;
    statistics.payload_bytes += job.payload_bytes;
    statistics.results += job.results;
    statistics.duplicates += job.duplicates;
    statistics.stale += job.stale;
}

}  // namespace

SessionTable::SessionTable(const Limits& limits, std::function<std::uint64_t()> draw_session,
                           JobObserver observer)
    : memory_limit_(limits.memory_bytes),
      draw_session_(std::move(draw_session)),
      observer_(std::move(observer)),
      mask_(std::bit_ceil(std::size_t{limits.jobs}) - 1),
      sessions_(mask_ + 1) {}

Session* SessionTable::find(std::string_view job) const {
    for (const auto& session : sessions_) {
        if (session != nullptr && session->job() == job) return session.get();
    }
    return nullptr;
}

std::size_t SessionTable::free_memory() const {
    return memory_limit_ - memory_used_;
}

Session* SessionTable::start(const std::string& job, const Terms& terms,
                             std::vector<Member> members, Time now, Outbox& out) {
    const std::size_t memory = terms.geometry.memory_bytes();
    const auto place =
        std::ranges::find_if(sessions_, [](const auto& session) { return session == nullptr; });
    if (place == sessions_.end() || memory > free_memory()) return nullptr;

    const auto index = static_cast<std::uint64_t>(place - sessions_.begin());
    std::uint64_t id = 0;
    while ((id & ~mask_) == 0)
        id = (draw_session_() & ~mask_) | index;
    try {
        *place = std::make_unique<Session>(job, id, terms, std::move(members), now);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
    Session& session = **place;
    memory_used_ += memory;
    ++running_;
    next_deadline_ = std::min(next_deadline_, session.deadline());
    ++past_.jobs_started;
    if (observer_) observer_({.kind = JobEvent::Kind::started, .job = session.statistics()});
    for (std::uint16_t rank = 0; rank < terms.geometry.world_size; ++rank)
        session.welcome(rank, out);
    return &session;
}

void SessionTable::finish(Session& session, Time now) {
    ++past_.jobs_finished;
    obituaries_.add({.session = session.id(), .ended = now, .lost = std::nullopt});
    end(session, now, {.kind = JobEvent::Kind::finished, .job = session.statistics()});
}

void SessionTable::lose(Session& session, const nic::PeerLostNotice& lost, Time now, Outbox& out) {
    ++past_.jobs_lost;
    obituaries_.add({.session = session.id(), .ended = now, .lost = lost});
    const std::span<Member> members = session.members();
    for (std::uint16_t rank = 0; rank < members.size(); ++rank) {
        if (rank == lost.rank || members[rank].left) continue;
        answer_peer_lost(out, members[rank].endpoint, rank, session.id(), lost);
    }
    end(session, now,
        {.kind = JobEvent::Kind::lost,
         .job = session.statistics(),
         .lost_rank = lost.rank,
         .left = lost.left});
}

void SessionTable::tell_closing(Outbox& out) const {
    for (const auto& session : sessions_) {
        if (session == nullptr) continue;
        const std::span<const Member> members = session->members();
        for (std::uint16_t rank = 0; rank < members.size(); ++rank) {
            if (!members[rank].left)
                answer_closing(out, members[rank].endpoint, rank, session->id());
        }
    }
}

void SessionTable::end(Session& session, Time now, const JobEvent& event) {
    add(past_, session.statistics());
    memory_used_ -= session.terms().geometry.memory_bytes();
    --running_;
    ended_.push_back(std::move(sessions_[session.id() & mask_]));
    next_deadline_ = std::min(next_deadline_, now);
    if (observer_) observer_(event);
}

void SessionTable::expire(Time now, Outbox& out) {
    for (const auto& session : sessions_) {
        if (session == nullptr || session->deadline() > now) continue;
        if (const auto silent = session->silent_rank(now); silent.has_value()) {
            lose(*session, {.rank = *silent, .left = false}, now, out);
        }
    }
    free_ended();
    reschedule();
}

void SessionTable::reschedule() {
    next_deadline_ = never;
    for (const auto& session : sessions_) {
        if (session != nullptr) next_deadline_ = std::min(next_deadline_, session->deadline());
    }
}

void SessionTable::count(Statistics& statistics) const {
    statistics.jobs_started += past_.jobs_started;
    statistics.jobs_finished += past_.jobs_finished;
    statistics.jobs_lost += past_.jobs_lost;
    statistics.contributions += past_.contributions;
    statistics.payload_bytes += past_.payload_bytes;
    statistics.results += past_.results;
    statistics.duplicates += past_.duplicates;
    statistics.stale += past_.stale;
    for (const auto& session : sessions_) {
        if (session != nullptr) add(statistics, session->statistics());
    }
}

std::vector<JobStatistics> SessionTable::jobs() const {
    std::vector<JobStatistics> jobs;
    for (const auto& session : sessions_) {
        if (session != nullptr) jobs.push_back(session->statistics());
    }
    return jobs;
}

}  // namespace sumwire::aggregator
