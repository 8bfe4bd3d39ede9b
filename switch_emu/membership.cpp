#include "switch_emu/membership.h"

#include <algorithm>
#include <utility>

#include "switch_emu/refusals.h"

namespace sumwire::aggregator {

void Membership::join(const JoinRef& ref, const nic::Join& join, Time now, Outbox& out) {
    if (auto objection = object_to(ref, join); objection.has_value()) {
        refuse(ref, objection->code, std::move(objection->text), out);
        return;
    }
    if (Session* running = sessions_.find(join.job); running != nullptr) {
        if (against(*running, ref, join, now, out) == Standing::settled) return;
    }
    Gathering* gathering = gathering_for(ref, join, now, out);
    if (gathering == nullptr) return;
    switch (gathering->admit(ref, join, now)) {
        case Gathering::Admission::taken:
            refuse(ref, nic::Refusal::rank_taken,
                   rank_taken_text(join, gathering->holder(ref.rank)), out);
            return;
        case Gathering::Admission::claimed:
        case Gathering::Admission::admitted:
            break;
    }
    const Gathering::Count count = gathering->count(now);
    if (count.joined < gathering->world_size()) {
        answer_waiting(out, ref, count.joined, count.missing_rank);
        return;
    }
    begin(*gathering, now, out);
    forget(*gathering);
}

Membership::Standing Membership::against(Session& running, const JoinRef& ref,
                                         const nic::Join& join, Time now, Outbox& out) {
    const std::uint16_t world_size = running.terms().geometry.world_size;
    if (join.world_size != world_size && !running.anyone_left()) {
        return against_other_world(running, ref, join, now, out);
    }
    if (ref.rank >= world_size) return Standing::free;
    Member& holder = running.members()[ref.rank];
    if (holder.left) {
        // A join of the old generation that was long under way takes no part in the next, and
        // nobody waits for its answer.
        return holder.nonce == ref.nonce ? Standing::settled : Standing::free;
    }
    if (holder.nonce == ref.nonce) {
        holder.heard = now;
        holder.join_bytes = ref.datagram_bytes;
        running.welcome(ref.rank, out);
        return Standing::settled;
    }
    switch (holder.rival.judge(holder.heard, now)) {
        case RivalClaim::Verdict::wait:
            answer_waiting(out, ref, 0, ref.rank);
            return Standing::settled;
        case RivalClaim::Verdict::holder_lives:
            refuse(ref, nic::Refusal::rank_taken, rank_taken_text(join, holder.endpoint), out);
            return Standing::settled;
        case RivalClaim::Verdict::holder_gone:
            sessions_.lose(running, {.rank = ref.rank, .left = false}, now, out);
            return Standing::free;
    }
    return Standing::free;
}

Membership::Standing Membership::against_other_world(Session& running, const JoinRef& ref,
                                                     const nic::Join& join, Time now, Outbox& out) {
    switch (running.rival().judge(running.last_heard(), now)) {
        case RivalClaim::Verdict::wait:
            answer_waiting(out, ref, 0, ref.rank);
            return Standing::settled;
        case RivalClaim::Verdict::holder_lives:
            refuse(ref, nic::Refusal::world_size,
                   world_size_text(join, running.terms().geometry.world_size), out);
            return Standing::settled;
        case RivalClaim::Verdict::holder_gone:
            sessions_.lose(running, {.rank = running.most_silent_rank(), .left = false}, now, out);
            return Standing::free;
    }
    return Standing::free;
}

Gathering* Membership::find(std::string_view job) {
    const auto found = std::ranges::find(gatherings_, job, &Gathering::job);
    return found == gatherings_.end() ? nullptr : &*found;
}

Gathering* Membership::gathering_for(const JoinRef& ref, const nic::Join& join, Time now,
                                     Outbox& out) {
    Gathering* gathering = find(join.job);
    if (gathering != nullptr && gathering->world_size() != join.world_size) {
        switch (gathering->rival().judge(gathering->last_join(), now)) {
            case RivalClaim::Verdict::wait:
                answer_waiting(out, ref, 0, ref.rank);
                return nullptr;
            case RivalClaim::Verdict::holder_lives:
                refuse(ref, nic::Refusal::world_size,
                       world_size_text(join, gathering->world_size()), out);
                return nullptr;
            case RivalClaim::Verdict::holder_gone:
                forget(*gathering);
                gathering = nullptr;
                break;
        }
    }
    if (gathering != nullptr) return gathering;
    if (sessions_.find(join.job) == nullptr && names() >= limits_.jobs) {
        refuse(ref, nic::Refusal::capacity, too_many_jobs_text(limits_.jobs), out);
        return nullptr;
    }
    return &gatherings_.emplace_back(join.job, join.world_size, now);
}

std::size_t Membership::names() const {
    const auto first_generations = std::ranges::count_if(
        gatherings_,
        [&](const Gathering& gathering) { return sessions_.find(gathering.job()) == nullptr; });
    return sessions_.size() + static_cast<std::size_t>(first_generations);
}

void Membership::begin(const Gathering& gathering, Time now, Outbox& out) {
    if (Session* old = sessions_.find(gathering.job()); old != nullptr) {
        const auto left = std::ranges::find(old->members(), true, &Member::left);
        const auto rank = static_cast<std::uint16_t>(left - old->members().begin());
        sessions_.lose(*old, {.rank = rank, .left = true}, now, out);
    }
    const Terms terms = gathering.terms(limits_);
    if (sessions_.start(gathering.job(), terms, gathering.members(), now, out) != nullptr) return;
    for (const JoinRef& ref : gathering.joins()) {
        refuse(ref, nic::Refusal::capacity,
               no_memory_text(gathering.job(), terms.geometry, sessions_.free_memory()), out);
    }
}

void Membership::leave(Session& session, std::uint16_t rank, Time now, Outbox& out) {
    session.leave(rank);
    if (session.everyone_left()) {
        sessions_.finish(session, now);
    } else if (session.needs(rank)) {
        sessions_.lose(session, {.rank = rank, .left = true}, now, out);
    }
}

void Membership::expire(Time now) {
    std::erase_if(gatherings_, [&](const Gathering& gathering) {
        return gathering.last_join() + limits_.gathering_timeout <= now;
    });
}

Time Membership::next_deadline() const {
    Time next = never;
    for (const Gathering& gathering : gatherings_)
        next = std::min(next, gathering.last_join() + limits_.gathering_timeout);
    return next;
}

void Membership::forget(const Gathering& gathering) {
    std::erase_if(gatherings_, [&](const Gathering& other) { return &other == &gathering; });
}

void Membership::refuse(const JoinRef& ref, nic::Refusal code, std::string text, Outbox& out) {
    ++refusals_;
    answer_refused(out, ref, code, std::move(text));
}

}  // namespace sumwire::aggregator
