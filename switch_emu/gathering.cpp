#include "switch_emu/gathering.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace sumwire::aggregator {

namespace {

// All of a job's ranks may fill all of its slots while the aggregator is busy.
std::uint16_t slots_that_fit(const SlotGeometry& wanted, std::size_t receive_capacity) {
    if (receive_capacity == 0) return wanted.slots;
    const std::size_t datagram = nic::header_bytes + wanted.payload_bytes;
    const std::size_t room = receive_capacity / (wanted.world_size * datagram);
    return static_cast<std::uint16_t>(
        std::clamp<std::size_t>(std::bit_floor(room), nic::min_slots, wanted.slots));
}

}  // namespace

Gathering::Gathering(std::string job, std::uint16_t world_size, Time now)
    : job_(std::move(job)), candidates_(world_size), last_join_(now) {}

Gathering::Admission Gathering::admit(const JoinRef& ref, const nic::Join& join, Time now) {
    Candidate& candidate = candidates_[ref.rank];
    last_join_ = now;
    if (candidate.known && candidate.ref.nonce != ref.nonce) {
        switch (candidate.rival.judge(candidate.last_join, now)) {
            case RivalClaim::Verdict::wait:
                return Admission::claimed;
            case RivalClaim::Verdict::holder_lives:
                return Admission::taken;
            case RivalClaim::Verdict::holder_gone:
                candidate = {};
                break;
        }
    }
    candidate.known = true;
    candidate.ref = ref;
    candidate.last_join = now;
    candidate.payload_bytes = join.payload_bytes;
    candidate.slots = join.slots;
    candidate.peer_timeout_ms = join.peer_timeout_ms;
    candidate.checksums = join.checksums;
    candidate.float_sums = join.float_sums;
    return Admission::admitted;
}

Gathering::Count Gathering::count(Time now) const {
    Count count{.joined = 0, .missing_rank = world_size()};
    for (std::uint16_t rank = 0; rank < world_size(); ++rank) {
        const Candidate& candidate = candidates_[rank];
        const bool joined = candidate.known && now - candidate.last_join <= join_freshness &&
                            !candidate.rival.open(candidate.last_join);
        if (joined) {
            ++count.joined;
        } else {
            count.missing_rank = std::min(count.missing_rank, rank);
        }
    }
    return count;
}

Terms Gathering::terms(const Limits& limits) const {
    Terms terms{.geometry = {.world_size = world_size(),
                             .slots = limits.slots_per_job,
                             .payload_bytes = limits.payload_bytes}};
    for (const Candidate& candidate : candidates_) {
        terms.geometry.slots = std::min(terms.geometry.slots, candidate.slots);
        terms.geometry.payload_bytes =
            std::min(terms.geometry.payload_bytes, candidate.payload_bytes);
        terms.geometry.float_sums = terms.geometry.float_sums || candidate.float_sums;
        terms.peer_timeout_ms = std::max(terms.peer_timeout_ms, candidate.peer_timeout_ms);
        terms.checksums = terms.checksums || candidate.checksums;
    }
    terms.geometry.slots = slots_that_fit(terms.geometry, limits.receive_capacity);
    terms.peer_timeout_ms =
        std::min<std::uint32_t>(terms.peer_timeout_ms, max_peer_timeout.count());
    return terms;
}

std::vector<JoinRef> Gathering::joins() const {
    std::vector<JoinRef> joins;
    for (const Candidate& candidate : candidates_) {
        if (candidate.known) joins.push_back(candidate.ref);
    }
    return joins;
}

std::vector<Member> Gathering::members() const {
    std::vector<Member> members;
    members.reserve(candidates_.size());
    for (const Candidate& candidate : candidates_) {
        Member member;
        member.endpoint = candidate.ref.from;
        member.nonce = candidate.ref.nonce;
        member.join_bytes = candidate.ref.datagram_bytes;
        members.push_back(member);
    }
    return members;
}

}  // namespace sumwire::aggregator
