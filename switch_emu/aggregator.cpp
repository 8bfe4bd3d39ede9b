#include "switch_emu/aggregator.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <limits>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "nic/control.h"
#include "nic/wire.h"
#include "switch_emu/answers.h"
#include "switch_emu/membership.h"
#include "switch_emu/session_table.h"

namespace sumwire::aggregator {
namespace {

const Limits& checked(const Limits& limits) {
    if (limits.jobs == 0) throw std::invalid_argument("0 jobs: allow at least 1");
    if (!std::has_single_bit(limits.slots_per_job) || limits.slots_per_job < nic::min_slots ||
        limits.slots_per_job > nic::max_slots) {
        throw std::invalid_argument(
            fmt::format("{} slots per job: choose a power of two from {} to {}",
                        limits.slots_per_job, nic::min_slots, nic::max_slots));
    }
    if (limits.payload_bytes == 0 || limits.payload_bytes % 64 != 0) {
        throw std::invalid_argument(fmt::format(
            "a payload of {} bytes: choose a multiple of 64, at least 64", limits.payload_bytes));
    }
    if (limits.gathering_timeout <= Time::zero()) {
        throw std::invalid_argument("a gathering timeout of 0: choose some seconds");
    }
    return limits;
}

}  // namespace

struct Aggregator::Impl {
    Impl(const Limits& limits, std::function<std::uint64_t()> draw_session, JobObserver observer)
        : sessions(checked(limits), std::move(draw_session), std::move(observer)),
          membership(limits, sessions) {}

    void contribution(const nic::Endpoint& from, const nic::Header& header,
                      std::span<const std::byte> payload, nic::Checksum checksum, Time now,
                      Outbox& out);
    void heartbeat(const nic::Endpoint& from, const nic::Header& header, Time now, Outbox& out);
    void leave(const nic::Endpoint& from, const nic::Header& header, Time now, Outbox& out);
    void join(const nic::Endpoint& from, const nic::Header& header,
              std::span<const std::byte> datagram, Time now, Outbox& out);

    struct Sender {
        Session* session = nullptr;
        Member* member = nullptr;
    };
    // Who sent this; empty, and dealt with, if nobody whom a running session knows.
    Sender sender(const nic::Endpoint& from, const nic::Header& header, Time now, Outbox& out);

    SessionTable sessions;
    Membership membership;
    Statistics counted;
};

Aggregator::Aggregator(const Limits& limits, std::function<std::uint64_t()> draw_session,
                       JobObserver observer)
    : impl_(std::make_unique<Impl>(limits, std::move(draw_session), std::move(observer))) {}

Aggregator::~Aggregator() = default;

void Aggregator::receive(const nic::Endpoint& from, std::span<const std::byte> datagram, Time now,
                         Outbox& out) {
    Statistics& counted = impl_->counted;
    ++counted.datagrams;
    const auto header = nic::read_header(datagram);
    // Lengths travel in 16 bits.
    if (!header.has_value() || datagram.size() > std::numeric_limits<std::uint16_t>::max()) {
        ++counted.malformed;
        return;
    }
    const nic::Checksum checksum = nic::check(datagram);
    if (checksum == nic::Checksum::wrong) {
        ++counted.malformed;
        return;
    }
    switch (header->type) {
        case nic::PacketType::contribution:
            impl_->contribution(from, *header, datagram.subspan(nic::header_bytes), checksum, now,
                                out);
            return;
        case nic::PacketType::heartbeat:
            impl_->heartbeat(from, *header, now, out);
            return;
        case nic::PacketType::leave:
            impl_->leave(from, *header, now, out);
            return;
        case nic::PacketType::join:
            impl_->join(from, *header, datagram, now, out);
            return;
        case nic::PacketType::result:
        case nic::PacketType::pending:
        case nic::PacketType::waiting:
        case nic::PacketType::welcome:
        case nic::PacketType::refused:
        case nic::PacketType::peer_lost:
        case nic::PacketType::contradiction:
        case nic::PacketType::closing:
            ++counted.malformed;
            return;
    }
}

Aggregator::Impl::Sender Aggregator::Impl::sender(const nic::Endpoint& from,
                                                  const nic::Header& header, Time now,
                                                  Outbox& out) {
    if (Session* session = sessions.find(header.session); session != nullptr) {
        if (Member* member = session->member(header, from); member != nullptr) {
            member->heard = now;
            return {session, member};
        }
    } else if (const Obituary* obituary = sessions.obituary(header.session, now)) {
        if (header.type == nic::PacketType::leave) {
            answer_echo(out, from, header);
        } else if (obituary->lost.has_value()) {
            answer_peer_lost(out, from, header.rank, header.session, *obituary->lost);
        }
        return {};
    }
    ++counted.strangers;
    return {};
}

void Aggregator::Impl::contribution(const nic::Endpoint& from, const nic::Header& header,
                                    std::span<const std::byte> payload, nic::Checksum checksum,
                                    Time now, Outbox& out) {
    const auto [session, member] = sender(from, header, now, out);
    if (session == nullptr || member->left) return;
    const bool unsealed = session->terms().checksums && checksum == nic::Checksum::absent;
    if (unsealed || !session->contribute(header, payload, out)) {
        ++counted.malformed;
        return;
    }
    if (!session->anyone_left()) return;
    const auto departed = session->departed_but_needed(header.slot, header.slot_version);
    if (departed.has_value()) {
        sessions.lose(*session, {.rank = *departed, .left = true}, now, out);
    }
}

void Aggregator::Impl::heartbeat(const nic::Endpoint& from, const nic::Header& header, Time now,
                                 Outbox& out) {
    if (sender(from, header, now, out).session != nullptr) answer_echo(out, from, header);
}

void Aggregator::Impl::leave(const nic::Endpoint& from, const nic::Header& header, Time now,
                             Outbox& out) {
    const auto [session, member] = sender(from, header, now, out);
    if (session == nullptr) return;
    answer_echo(out, from, header);
    if (member->left) return;
    membership.leave(*session, header.rank, now, out);
}

void Aggregator::Impl::join(const nic::Endpoint& from, const nic::Header& header,
                            std::span<const std::byte> datagram, Time now, Outbox& out) {
    const auto join = nic::read_join(datagram.subspan(nic::header_bytes));
    if (!join.has_value() || header.session != 0) {
        ++counted.malformed;
        return;
    }
    ++counted.joins;
    const JoinRef ref{.from = from,
                      .rank = header.rank,
                      .nonce = join->nonce,
                      .datagram_bytes = static_cast<std::uint16_t>(datagram.size())};
    try {
        membership.join(ref, *join, now, out);
    } catch (const std::bad_alloc&) {
        // No answer: the worker asks again.
    }
}

void Aggregator::expire(Time now, Outbox& out) {
    impl_->sessions.expire(now, out);
    impl_->membership.expire(now);
}

void Aggregator::close(Outbox& out) const {
    impl_->sessions.tell_closing(out);
}

void Aggregator::free_ended() {
    impl_->sessions.free_ended();
}

Time Aggregator::next_deadline() const {
    return std::min(impl_->sessions.next_deadline(), impl_->membership.next_deadline());
}

bool Aggregator::idle() const {
    return impl_->sessions.size() == 0 && !impl_->membership.gathering();
}

Statistics Aggregator::statistics() const {
    Statistics statistics = impl_->counted;
    statistics.refusals = impl_->membership.refusals();
    impl_->sessions.count(statistics);
    return statistics;
}

std::vector<JobStatistics> Aggregator::jobs() const {
    return impl_->sessions.jobs();
}

std::uint64_t random_session() {
    std::uint64_t session = 0;
    while (session == 0) {
        const auto taken = ::getrandom(&session, sizeof session, 0);
        if (taken == static_cast<ssize_t>(sizeof session)) continue;
        session = 0;
        if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
    }
    return session;
}

}  // namespace sumwire::aggregator
