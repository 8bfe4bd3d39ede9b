#include "runtime/session/worker_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

namespace sumwire::runtime {

namespace {

constexpr Time join_interval = std::chrono::milliseconds(100);
constexpr Time longest_heartbeat_interval = std::chrono::milliseconds(250);
constexpr Time longest_wait = std::chrono::milliseconds(200);
constexpr Time large_join_patience = std::chrono::seconds(3);
constexpr Time farewell_interval = std::chrono::milliseconds(20);

// Lanes that carry something always keep this many packets under way, however small the window is:
// otherwise one rank's window could be full of packets that wait for another rank's, and the other
// way round.
constexpr std::uint32_t lane_share = 4;

// Packets of a lane that a timeout may put under way again at once, after losses were proved.
constexpr std::uint32_t max_probes = 64;

// A quarter of the slots for the index, half for the values, a quarter for repairs.
std::uint32_t lane_slots(std::size_t lane, std::uint32_t slots) {
    return lane == 1 ? slots / 2 : slots / 4;
}
std::uint32_t lane_first(std::size_t lane, std::uint32_t slots) {
    return lane == 0 ? 0 : lane == 1 ? slots / 4 : slots / 4 * 3;
}

// How much later than a packet others must have been sent and answered before it counts as lost.
Time reorder_window(const PathEstimator& path) {
    return std::max<Time>(path.round_trip() / 4, std::chrono::microseconds(100));
}

}  // namespace

WorkerSession::WorkerSession(const SessionConfig& config, Time now)
    : config_(config),
      join_deadline_(deadline_after(now, config.join_timeout)),
      next_join_(now),
      join_payload_wanted_(config.join.payload_bytes) {
    const nic::Join& join = config.join;
    if (join.payload_bytes < 64 || join.payload_bytes % 64 != 0) {
        throw std::invalid_argument(fmt::format(
            "a payload of {} bytes is no multiple of 64 from 64 up", join.payload_bytes));
    }
    if (!std::has_single_bit(join.slots) || join.slots < nic::min_slots ||
        join.slots > nic::max_slots) {
        throw std::invalid_argument(fmt::format("{} slots are no power of two from {} to {}",
                                                join.slots, nic::min_slots, nic::max_slots));
    }
    if (join.peer_timeout_ms < nic::min_peer_timeout_ms) {
        throw std::invalid_argument(fmt::format(
            "a peer timeout of {} ms is too short: choose at least {} ms, so that a few "
            "lost heartbeats do not end the job",
            join.peer_timeout_ms, nic::min_peer_timeout_ms));
    }
    join_payload_.resize(std::max<std::size_t>(join.payload_bytes, nic::Join::bytes));
    nic::write(join, join_payload_);
}

void WorkerSession::begin_running(const nic::Welcome& welcome, std::uint64_t session, Time now) {
    agreed_ = welcome;
    session_ = session;
    for (std::size_t lane = 0; lane < lane_count; ++lane) {
        lanes_.emplace_back(lane_first(lane, welcome.slots), lane_slots(lane, welcome.slots),
                            welcome.payload_bytes, config_.max_messages, config_.first_sequence);
    }
    in_flight_.resize(welcome.slots);
    links_ = SlotLinks(welcome.slots);
    completed_.resize(lane_count * std::bit_ceil(config_.max_messages));
    window_ = CongestionWindow(welcome.slots);
    last_heard_ = last_sent_ = now;
    state_ = State::running;
}

void WorkerSession::fail(SessionFailure::Kind kind, std::uint32_t rank, std::string text) {
    if (state_ != State::joining && state_ != State::running) return;
    state_ = State::failed;
    failure_ = {.kind = kind, .rank = rank, .text = std::move(text)};
}

bool WorkerSession::post(std::size_t lane, const LaneMessage& message) {
    return state_ == State::running && lanes_[lane].post(message);
}

std::optional<std::uint64_t> WorkerSession::take_completed() {
    if (completed_count_ == 0) return std::nullopt;
    const std::uint64_t token = completed_[completed_head_];
    completed_head_ = (completed_head_ + 1) % completed_.size();
    --completed_count_;
    return token;
}

std::size_t WorkerSession::lane_of(std::uint32_t slot) const {
    const std::uint32_t quarter = agreed_.slots / 4U;
    return slot < quarter ? 0 : slot < 3 * quarter ? 1 : 2;
}

void WorkerSession::receive(std::span<const std::byte> datagram, Time now) {
    const auto header = nic::read_header(datagram);
    if (!header || header->rank != config_.join.rank) return;
    const nic::Checksum checksum = nic::check(datagram);
    const bool required = state_ == State::joining || agreed_.checksums;
    if (checksum == nic::Checksum::wrong || (required && checksum == nic::Checksum::absent)) return;

    const auto payload = datagram.subspan(nic::header_bytes);
    if (state_ == State::joining) {
        receive_control(*header, payload, now);
        return;
    }
    if (header->session != session_) return;
    if (state_ == State::left) farewell_answered_ |= header->type == nic::PacketType::leave;
    if (state_ != State::running) return;
    last_heard_ = now;
    switch (header->type) {
        case nic::PacketType::result:
            receive_result(*header, payload, now);
            break;
        case nic::PacketType::pending:
            receive_pending(*header, payload, now);
            break;
        case nic::PacketType::peer_lost:
            receive_control(*header, payload, now);
            break;
        case nic::PacketType::contradiction:
            receive_contradiction(*header, payload);
            break;
        case nic::PacketType::closing:
            // Sealed in any case: a damaged packet must not end the session.
            if (checksum != nic::Checksum::right) break;
            fail(SessionFailure::Kind::aggregator_lost, 0,
                 "the aggregator was shut down while the job ran; start it again, then the job");
            break;
        default:
            break;
    }
}

void WorkerSession::receive_control(const nic::Header& header, std::span<const std::byte> payload,
                                    Time now) {
    const nic::Join& join = config_.join;
    switch (header.type) {
        case nic::PacketType::waiting: {
            const auto waiting = nic::read_waiting(payload);
            if (!waiting || waiting->nonce != join.nonce) return;
            last_waiting_ = waiting;
            large_answered_ |= waiting->answered_bytes >= nic::header_bytes + join_payload_wanted_;
            return;
        }
        case nic::PacketType::welcome: {
            const auto welcome = nic::read_welcome(payload);
            if (!welcome || welcome->nonce != join.nonce || header.session == 0) return;
            if (welcome->payload_bytes > join.payload_bytes || welcome->slots > join.slots) return;
            join_payload_wanted_ = welcome->payload_bytes;
            if (large_answered_ ||
                welcome->answered_bytes >= nic::header_bytes + join_payload_wanted_) {
                begin_running(*welcome, header.session, now);
            } else if (!welcomed_) {
                welcomed_ = now;
                join_attempts_ = 0;
                next_join_ = now;
            }
            return;
        }
        case nic::PacketType::refused: {
            const auto refused = nic::read_refused(payload);
            if (!refused || refused->nonce != join.nonce) return;
            fail(SessionFailure::Kind::refused, join.rank, refused->text);
            return;
        }
        case nic::PacketType::peer_lost: {
            const auto notice = nic::read_peer_lost(payload);
            if (!notice || state_ != State::running) return;
            fail(SessionFailure::Kind::peer_lost, notice->rank,
                 notice->left
                     ? fmt::format("rank {} left the job while others needed it; see its own "
                                   "error, then start the job again",
                                   notice->rank)
                     : fmt::format("rank {} fell silent for {} ms; look for its process and its "
                                   "host's network, then start the job again",
                                   notice->rank, agreed_.peer_timeout_ms));
            return;
        }
        default:
            return;
    }
}

void WorkerSession::receive_result(const nic::Header& header, std::span<const std::byte> payload,
                                   Time now) {
    if (header.slot >= agreed_.slots) return;
    const std::size_t lane = lane_of(header.slot);
    const Lane::Accepted accepted = lanes_[lane].accept(header, payload);
    if (accepted == Lane::Accepted::no) return;

    note_answer(lane_states_[lane], in_flight_[header.slot], payload.size(), now);
    release(lane_states_[lane], header.slot);
    if (accepted == Lane::Accepted::message) {
        completed_[(completed_head_ + completed_count_++) % completed_.size()] =
            lanes_[lane].completed_token();
    }
}

void WorkerSession::receive_pending(const nic::Header& header, std::span<const std::byte> payload,
                                    Time now) {
    const auto pending = nic::read_pending(payload);
    if (!pending || header.slot >= agreed_.slots) return;
    const std::size_t lane = lane_of(header.slot);
    if (!lanes_[lane].occupied(header.slot, header.sequence)) return;
    InFlight& packet = in_flight_[header.slot];
    LaneState& state = lane_states_[lane];
    if (pending->missing_rank == config_.join.rank) {
        // What was sent within a round trip may still arrive.
        const Time round_trip = path_.known() ? path_.round_trip() : path_.timeout();
        if (packet.asked_for || now - packet.sent < round_trip) return;
        list_of(state, packet).remove(links_, header.slot);
        packet.asked_for = true;
        state.asked_for.push_back(links_, header.slot);
        return;
    }
    packet.pending = true;
    state.probes = 1;
    missing_ = MissingRank{
        .rank = pending->missing_rank, .present = pending->present, .slot = header.slot};
}

void WorkerSession::receive_contradiction(const nic::Header& header,
                                          std::span<const std::byte> payload) {
    const auto notice = nic::read_contradiction(payload);
    if (!notice || header.slot >= agreed_.slots) return;
    if (!lanes_[lane_of(header.slot)].occupied(header.slot, header.sequence)) return;
    fail(SessionFailure::Kind::contradiction, notice->other_rank,
         fmt::format("rank {} sent {} of {} bytes where this rank sent {} of {} bytes (slot {}): "
                     "every rank must call the same collectives in the same order with the same "
                     "count, type and codec",
                     notice->other_rank, nic::op_text(notice->other_op), notice->other_bytes,
                     nic::op_text(header.op), notice->own_bytes, header.slot));
}

void WorkerSession::note_answer(LaneState& lane, const InFlight& packet, std::size_t payload_bytes,
                                Time now) {
    path_.on_result(nic::frame_overhead_bytes + payload_bytes);
    window_.on_result();
    lane.last_answer = now;
    if (packet.once) {
        path_.sample(packet.sent, packet.delivered, now);
        lane.newest_answered = std::max(lane.newest_answered, packet.sent);
        lane.probes = 1;
    } else if (!packet.pending) {
        lane.probes = std::min(2 * lane.probes, max_probes);
    }
}

void WorkerSession::release(LaneState& lane, std::uint32_t slot) {
    const InFlight& packet = in_flight_[slot];
    list_of(lane, packet).remove(links_, slot);
    --lane.in_flight;
    lane.sent_again -= packet.once ? 0U : 1U;
    --in_flight_count_;
    if (missing_ && missing_->slot == slot) missing_.reset();
}

Time WorkerSession::level_timeout(std::size_t level) const {
    return std::min<Time>(path_.timeout() * (1U << level), std::max(longest_wait, path_.timeout()));
}

std::size_t WorkerSession::poll_transmit(Time now, std::span<SessionPacket> out) {
    std::size_t count = 0;
    switch (state_) {
        case State::joining:
            check_joining(now);
            if (state_ == State::joining) count = transmit_join(now, out);
            break;
        case State::running:
            check_aggregator(now);
            if (state_ != State::running) break;
            if (path_.known()) window_.judge(now, path_.round_trip());
            count = transmit_again(now, out);
            count += transmit_fresh(now, out.subspan(count));
            if (count != 0) last_sent_ = now;
            count += transmit_heartbeat(now, out.subspan(count));
            break;
        case State::left:
            if (!farewell_answered_ && now >= next_farewell_ && !out.empty()) {
                next_farewell_ = now + farewell_interval;
                out[count++] = control_packet(nic::PacketType::leave, {});
            }
            break;
        case State::failed:
            break;
    }
    return count;
}

void WorkerSession::check_joining(Time now) {
    if (welcomed_ && now - *welcomed_ > large_join_patience) {
        fail(SessionFailure::Kind::path_mtu, 0,
             fmt::format("the aggregator answers small datagrams, but none of {} bytes came "
                         "through: some link's MTU is too small; choose a smaller payload or "
                         "raise the MTU of every link to {}",
                         nic::header_bytes + join_payload_wanted_,
                         join_payload_wanted_ + nic::packet_overhead_bytes));
        return;
    }
    if (now < join_deadline_) return;
    const auto seconds = std::chrono::duration<double>(config_.join_timeout).count();
    if (last_waiting_) {
        fail(SessionFailure::Kind::ranks_missing, last_waiting_->missing_rank,
             fmt::format("rank {} of job '{}' has not joined within {:.3g} s ({} of {} ranks are "
                         "here); start it, or check its job name, world size and aggregator",
                         last_waiting_->missing_rank, config_.join.job, seconds,
                         last_waiting_->joined, config_.join.world_size));
    } else {
        fail(SessionFailure::Kind::no_answer, 0,
             fmt::format("no answer within {:.3g} s; check that sumwire-aggregator runs there, and "
                         "that its UDP port passes every firewall on the way",
                         seconds));
    }
}

void WorkerSession::check_aggregator(Time now) {
    if (now - last_heard_ <= peer_timeout()) return;
    fail(SessionFailure::Kind::aggregator_lost, 0,
         fmt::format("the aggregator fell silent for {} ms; look for its process and its host's "
                     "network, then start the job again",
                     agreed_.peer_timeout_ms));
}

std::size_t WorkerSession::transmit_join(Time now, std::span<SessionPacket> out) {
    if (now < next_join_ || out.empty()) return 0;
    // A path that drops large datagrams still lets the odd attempts through, so that the two cases
    // are told apart. Once welcomed, only the large ones are in question.
    const bool padded = welcomed_ || join_attempts_ % 2 == 0;
    const std::size_t bytes =
        padded ? std::max(join_payload_wanted_, nic::Join::bytes) : nic::Join::bytes;
    out[0] = control_packet(nic::PacketType::join, std::span(join_payload_).first(bytes));
    // The unpadded attempt follows the first padded one at once: most paths answer both.
    next_join_ = now + (join_attempts_ == 0 && !welcomed_ ? Time::zero() : join_interval);
    ++join_attempts_;
    return 1;
}

bool WorkerSession::is_due(const LaneState& lane, const InFlight& packet, Time now) const {
    const bool overtaken = packet.sent + reorder_window(path_) < lane.newest_answered;
    const bool may_probe = !packet.once || lane.sent_again < lane.probes;
    return overtaken || (may_probe && now >= timeout_of(lane, packet));
}

Time WorkerSession::timeout_of(const LaneState& lane, const InFlight& packet) const {
    return std::max(packet.sent, lane.last_answer) + level_timeout(packet.level);
}

std::size_t WorkerSession::transmit_again(Time now, std::span<SessionPacket> out) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < lane_count; ++i) {
        LaneState& lane = lane_states_[i];
        while (count < out.size() && !lane.asked_for.empty()) {
            window_.on_loss();
            send_again(i, lane.asked_for.front(), now, out[count++]);
        }
        for (SlotList& level : lane.waiting) {
            while (count < out.size() && !level.empty()) {
                const std::uint32_t slot = level.front();
                if (!is_due(lane, in_flight_[slot], now)) break;
                window_.on_loss();
                send_again(i, slot, now, out[count++]);
            }
        }
    }
    return count;
}

void WorkerSession::send_again(std::size_t lane_number, std::uint32_t slot, Time now,
                               SessionPacket& out) {
    LaneState& lane = lane_states_[lane_number];
    InFlight& packet = in_flight_[slot];
    list_of(lane, packet).remove(links_, slot);
    lane.sent_again += packet.once ? 1U : 0U;
    packet = {
        .sent = now,
        .delivered = path_.delivered(),
        .level = static_cast<std::uint8_t>(std::min<std::size_t>(packet.level + 1U, levels - 1)),
        .once = false};
    lane.waiting[packet.level].push_back(links_, slot);
    ++retransmissions_;
    write_data(lanes_[lane_number].packet_in(slot), out);
}

std::size_t WorkerSession::transmit_fresh(Time now, std::span<SessionPacket> out) {
    std::size_t count = 0;
    // Later rounds first: they free chunks, which lets earlier rounds begin.
    for (std::size_t lane = lane_count; lane-- != 0;) {
        LaneState& state = lane_states_[lane];
        while (count < out.size() &&
               (in_flight_count_ < window_.packets() || state.in_flight < lane_share)) {
            const auto packet = lanes_[lane].next_packet();
            if (!packet) break;
            in_flight_[packet->slot] = {.sent = now, .delivered = path_.delivered()};
            state.waiting[0].push_back(links_, packet->slot);
            ++state.in_flight;
            ++in_flight_count_;
            write_data(*packet, out[count++]);
        }
    }
    return count;
}

std::size_t WorkerSession::transmit_heartbeat(Time now, std::span<SessionPacket> out) {
    if (out.empty() || now < next_heartbeat()) return 0;
    last_sent_ = now;
    out[0] = control_packet(nic::PacketType::heartbeat, {});
    return 1;
}

// Several in the time after which either side gives the other up, and more of them once one stays
// unanswered: losses in a row must not look like a death.
Time WorkerSession::next_heartbeat() const {
    const Time interval = std::min(longest_heartbeat_interval, peer_timeout() / 4);
    const bool answered = last_heard_ >= last_sent_;
    return last_sent_ + (answered ? interval : interval / 4);
}

Time WorkerSession::peer_timeout() const {
    return std::chrono::milliseconds(agreed_.peer_timeout_ms);
}

void WorkerSession::write_data(const LanePacket& packet, SessionPacket& out) const {
    nic::write_header({.type = nic::PacketType::contribution,
                       .op = packet.op,
                       .rank = config_.join.rank,
                       .session = session_,
                       .sequence = packet.sequence,
                       .slot = static_cast<std::uint16_t>(packet.slot),
                       .slot_version = packet.version},
                      out.header);
    if (agreed_.checksums) nic::seal(out.header, packet.payload);
    out.payload = packet.payload;
    out.region = packet.region;
}

SessionPacket WorkerSession::control_packet(nic::PacketType type,
                                            std::span<const std::byte> payload) const {
    SessionPacket packet;
    nic::write_header({.type = type, .rank = config_.join.rank, .session = session_},
                      packet.header);
    nic::seal(packet.header, payload);
    packet.payload = payload;
    return packet;
}

Time WorkerSession::next_deadline() const {
    if (state_ == State::joining) return std::min(next_join_, join_deadline_);
    if (state_ == State::left) return farewell_answered_ ? never : next_farewell_;
    if (state_ == State::failed) return never;

    Time deadline = std::min(next_heartbeat(), last_heard_ + peer_timeout());
    for (const LaneState& lane : lane_states_) {
        if (!lane.asked_for.empty()) return Time::zero();
        for (const SlotList& level : lane.waiting) {
            if (level.empty()) continue;
            deadline = std::min(deadline, timeout_of(lane, in_flight_[level.front()]));
        }
    }
    return deadline;
}

void WorkerSession::leave() {
    if (state_ == State::left) return;
    farewell_answered_ = session_ == 0;
    state_ = State::left;
}

}  // namespace sumwire::runtime
