// One generation of a job, from the welcome of all its ranks until they left or one was lost.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nic/control.h"
#include "nic/endpoint.h"
#include "nic/time.h"
#include "nic/wire.h"
#include "switch_emu/answers.h"
#include "switch_emu/outbox.h"
#include "switch_emu/rival_claim.h"
#include "switch_emu/slot_table.h"
#include "switch_emu/statistics.h"

namespace sumwire::aggregator {

// What the ranks' joins and the aggregator's limits agreed on.
struct Terms {
    SlotGeometry geometry;
    std::uint32_t peer_timeout_ms = 0;
    bool checksums = false;
};

struct Member {
    nic::Endpoint endpoint;
    Time heard{};  // last packet of any kind
    bool left = false;
    std::uint64_t nonce = 0;
    std::uint16_t join_bytes = 0;  // length of its last join datagram
    RivalClaim rival;
};

class Session {
  public:
    // Throws std::bad_alloc.
    Session(std::string job, std::uint64_t id, const Terms& terms, std::vector<Member> members,
            Time now);

    const std::string& job() const { return statistics_.name; }
    std::uint64_t id() const { return statistics_.session; }
    const Terms& terms() const { return terms_; }
    const JobStatistics& statistics() const { return statistics_; }
    std::span<Member> members() { return members_; }
    std::span<const Member> members() const { return members_; }

    // The member that the header names, if the datagram came from its address.
    Member* member(const nic::Header& header, const nic::Endpoint& from) {
        if (header.rank >= members_.size()) return nullptr;
        Member& member = members_[header.rank];
        return member.endpoint == from ? &member : nullptr;
    }

    // A contribution of a member. False: malformed or contradictory; no sum changed. Ranks that
    // contradict each other are told, others when they ask again.
    bool contribute(const nic::Header& header, std::span<const std::byte> payload, Outbox& out);

    void welcome(std::uint16_t rank, Outbox& out) const;

    // Marks the member as left.
    void leave(std::uint16_t rank);
    bool anyone_left() const { return left_ != 0; }
    bool everyone_left() const { return left_ == members_.size(); }
    // An open use lacks this rank.
    bool needs(std::uint16_t rank) const { return slots_.awaits(rank); }
    // A rank that left and that this use lacks.
    std::optional<std::uint16_t> departed_but_needed(std::uint16_t slot, bool version) const;

    // A rank that was silent for the peer timeout, if any; moves the deadline on otherwise.
    std::optional<std::uint16_t> silent_rank(Time now);
    // Nobody can fall silent before.
    Time deadline() const { return deadline_; }

    // Of the ranks that have not left: who was heard last, and who was not heard for longest.
    Time last_heard() const;
    std::uint16_t most_silent_rank() const;
    // Ranks of another world size claim the job's name.
    RivalClaim& rival() { return rival_; }

  private:
    Time peer_timeout() const { return std::chrono::milliseconds(terms_.peer_timeout_ms); }
    void tell_contradiction(const nic::Header& header, std::size_t bytes, Outbox& out) const;
    void tell_dissent(std::uint16_t rank, const nic::Header& use, const Dissent& dissent,
                      Outbox& out) const;
    void tell_pending(const nic::Header& header, Outbox& out) const;
    void remind(const nic::Header& use, std::uint16_t present, Outbox& out) const;
    void send_results(const nic::Header& contribution, Outbox& out);
    void send_result(std::uint16_t rank, const nic::Header& contribution, Outbox& out) const;

    Terms terms_;
    std::vector<Member> members_;
    std::size_t left_ = 0;
    Time deadline_;
    RivalClaim rival_;
    static std::size_t place_of(const nic::Header& header) {
        return std::size_t{header.slot} * 2 + (header.slot_version ? 1 : 0);
    }

    SlotTable slots_;
    // Of the results of complete uses, if the job has checksums: every rank gets the same payload.
    std::vector<std::uint32_t> result_crcs_;
    JobStatistics statistics_;
};

}  // namespace sumwire::aggregator
