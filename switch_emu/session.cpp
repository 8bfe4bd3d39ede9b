#include "switch_emu/session.h"

#include <algorithm>
#include <utility>

#include "nic/crc32c.h"

namespace sumwire::aggregator {

Session::Session(std::string job, std::uint64_t id, const Terms& terms, std::vector<Member> members,
                 Time now)
    : terms_(terms),
      members_(std::move(members)),
      deadline_(now + peer_timeout()),
      slots_(terms.geometry),
      result_crcs_(terms.checksums ? std::size_t{terms.geometry.slots} * 2 : 0) {
    statistics_.name = std::move(job);
    statistics_.session = id;
    statistics_.world_size = terms.geometry.world_size;
    for (Member& member : members_)
        member.heard = now;
}

bool Session::contribute(const nic::Header& header, std::span<const std::byte> payload,
                         Outbox& out) {
    if (header.slot >= terms_.geometry.slots) return false;
    switch (slots_.accept(header, payload)) {
        case Arrival::completed:
            ++statistics_.results;
            send_results(header, out);
            [[fallthrough]];
        case Arrival::combined:
            ++statistics_.contributions;
            statistics_.payload_bytes += payload.size();
            return true;
        case Arrival::duplicate_complete:
            ++statistics_.duplicates;
            send_result(header.rank, header, out);
            return true;
        case Arrival::duplicate_partial:
            ++statistics_.duplicates;
            tell_pending(header, out);
            return true;
        case Arrival::stale:
            ++statistics_.stale;
            return true;
        case Arrival::contradiction:
            tell_contradiction(header, payload.size(), out);
            return false;
        case Arrival::premature:
        case Arrival::unfit:
            return false;
    }
    return false;
}

// Neither rank can ever get this use's result, and each learns what the other sent.
void Session::tell_contradiction(const nic::Header& header, std::size_t bytes, Outbox& out) const {
    const auto other = slots_.other_present(header.slot, header.slot_version, header.rank);
    if (!other.has_value()) return;
    const auto own_bytes = static_cast<std::uint16_t>(bytes);
    answer_contradiction(out, members_[header.rank].endpoint, header,
                         {.other_rank = *other,
                          .other_bytes = slots_.length(header.slot, header.slot_version),
                          .own_bytes = own_bytes,
                          .other_op = slots_.op(header.slot, header.slot_version)});
    tell_dissent(*other, header, {.rank = header.rank, .length = own_bytes, .op = header.op}, out);
}

void Session::tell_dissent(std::uint16_t rank, const nic::Header& use, const Dissent& dissent,
                           Outbox& out) const {
    if (members_[rank].left) return;
    nic::Header header = use;
    header.rank = rank;
    header.op = slots_.op(use.slot, use.slot_version);
    answer_contradiction(out, members_[rank].endpoint, header,
                         {.other_rank = dissent.rank,
                          .other_bytes = dissent.length,
                          .own_bytes = slots_.length(use.slot, use.slot_version),
                          .other_op = dissent.op});
}

void Session::tell_pending(const nic::Header& header, Outbox& out) const {
    const auto& dissent = slots_.dissent(header.slot, header.slot_version);
    if (dissent.has_value() && dissent->rank != header.rank) {
        tell_dissent(header.rank, header, *dissent, out);
        return;
    }
    const nic::Pending pending{
        .present = slots_.present(header.slot, header.slot_version),
        .missing_rank = slots_.lowest_missing(header.slot, header.slot_version)};
    answer_pending(out, members_[header.rank].endpoint, header, pending, terms_.checksums);
    remind(header, pending.present, out);
}

// A rank that is missing may have sent long ago, and would find out only by its own timeout.
void Session::remind(const nic::Header& use, std::uint16_t present, Outbox& out) const {
    constexpr unsigned most = 4;
    // Where so many are missing they are late: nothing was lost.
    if (present * 2U < members_.size()) return;
    unsigned reminded = 0;
    for (std::uint16_t rank = 0; rank < members_.size() && reminded < most; ++rank) {
        if (members_[rank].left || slots_.has(use.slot, use.slot_version, rank)) continue;
        nic::Header header = use;
        header.rank = rank;
        answer_pending(out, members_[rank].endpoint, header,
                       {.present = present, .missing_rank = rank}, terms_.checksums);
        ++reminded;
    }
}

void Session::send_results(const nic::Header& contribution, Outbox& out) {
    if (terms_.checksums) {
        result_crcs_[place_of(contribution)] =
            nic::crc32c(slots_.result(contribution.slot, contribution.slot_version));
    }
    for (std::uint16_t rank = 0; rank < members_.size(); ++rank) {
        if (!members_[rank].left) send_result(rank, contribution, out);
    }
}

void Session::send_result(std::uint16_t rank, const nic::Header& contribution, Outbox& out) const {
    nic::Header header = contribution;
    header.type = nic::PacketType::result;
    header.rank = rank;
    const auto payload = slots_.result(header.slot, header.slot_version);
    if (terms_.checksums) {
        answer_sealed(out, members_[rank].endpoint, header, payload,
                      result_crcs_[place_of(header)]);
    } else {
        answer(out, members_[rank].endpoint, header, payload);
    }
}

void Session::welcome(std::uint16_t rank, Outbox& out) const {
    const Member& member = members_[rank];
    const JoinRef join{.from = member.endpoint,
                       .rank = rank,
                       .nonce = member.nonce,
                       .datagram_bytes = member.join_bytes};
    const nic::Welcome welcome{.payload_bytes = terms_.geometry.payload_bytes,
                               .slots = terms_.geometry.slots,
                               .peer_timeout_ms = terms_.peer_timeout_ms,
                               .checksums = terms_.checksums,
                               .float_sums = terms_.geometry.float_sums};
    answer_welcome(out, join, id(), welcome);
}

void Session::leave(std::uint16_t rank) {
    if (members_[rank].left) return;
    members_[rank].left = true;
    ++left_;
}

std::optional<std::uint16_t> Session::departed_but_needed(std::uint16_t slot, bool version) const {
    if (slots_.present(slot, version) == 0) return std::nullopt;
    for (std::uint16_t rank = 0; rank < members_.size(); ++rank) {
        if (members_[rank].left && !slots_.has(slot, version, rank)) return rank;
    }
    return std::nullopt;
}

Time Session::last_heard() const {
    Time last{};
    for (const Member& member : members_) {
        if (!member.left) last = std::max(last, member.heard);
    }
    return last;
}

std::uint16_t Session::most_silent_rank() const {
    std::uint16_t most_silent = 0;
    Time earliest = never;
    for (std::uint16_t rank = 0; rank < members_.size(); ++rank) {
        if (members_[rank].left || members_[rank].heard >= earliest) continue;
        earliest = members_[rank].heard;
        most_silent = rank;
    }
    return most_silent;
}

std::optional<std::uint16_t> Session::silent_rank(Time now) {
    Time earliest = never;
    for (std::uint16_t rank = 0; rank < members_.size(); ++rank) {
        const Member& member = members_[rank];
        if (member.left) continue;
        const Time due = member.heard + peer_timeout();
        if (due <= now) return rank;
        earliest = std::min(earliest, due);
    }
    deadline_ = earliest;
    return std::nullopt;
}

}  // namespace sumwire::aggregator
