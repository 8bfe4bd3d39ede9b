// A rank's side of the protocol as a pure state machine: datagrams and the time in, datagrams and
// deadlines out. No I/O, no clock, no threads.
//
// Joins a job, then carries messages on three lanes, sends again what stays unanswered, keeps the
// window, and notices when a rank or the aggregator is lost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nic/control.h"
#include "nic/time.h"
#include "nic/wire.h"
#include "runtime/session/congestion_window.h"
#include "runtime/session/lane.h"
#include "runtime/session/path_estimator.h"
#include "runtime/session/slot_list.h"

namespace sumwire::runtime {

struct SessionConfig {
    nic::Join join;  // payload_bytes and slots are what this rank would like
    std::chrono::milliseconds join_timeout = std::chrono::seconds(30);
    std::size_t max_messages = 128;  // per lane
    // Of each lane's packets; the same on every rank.
    std::uint32_t first_sequence = 0;
};

// Why a session ended.
struct SessionFailure {
    enum class Kind : std::uint8_t {
        refused,          // the aggregator says no
        no_answer,        // joining: nothing came back
        path_mtu,         // joining: small datagrams come back, large ones do not
        ranks_missing,    // joining: others did not come in time
        peer_lost,        // a rank fell silent or left
        aggregator_lost,  // the aggregator fell silent
        contradiction,    // another rank sent something else in the same place
    };
    Kind kind{};
    std::uint32_t rank = 0;  // ranks_missing, peer_lost: whom; contradiction: the other
    std::string text;        // cause and remedy
};

// A datagram that the session wants sent to the aggregator.
struct SessionPacket {
    std::array<std::byte, nic::header_bytes> header{};
    std::span<const std::byte> payload;   // stable until the slot's result is here
    nic::MemoryRegion* region = nullptr;  // where the payload is registered, or null
};

// What the aggregator last said about a slot that stays incomplete.
struct MissingRank {
    std::uint32_t rank = 0;
    std::uint32_t present = 0;
    std::uint32_t slot = 0;
};

class WorkerSession {
  public:
    enum class State : std::uint8_t { joining, running, failed, left };
    static constexpr std::size_t lane_count = 3;

    // Throws std::invalid_argument if payload, slots or peer timeout are out of range.
    WorkerSession(const SessionConfig& config, Time now);

    State state() const { return state_; }
    // The reason, in State::failed.
    const SessionFailure& failure() const { return failure_; }
    // What was agreed, from State::running on.
    const nic::Welcome& agreed() const { return agreed_; }

    // Puts a message on a lane, in State::running. All ranks must post the same (op, size) in the
    // same order on each lane. False if the lane holds max_messages. The bytes belong to the
    // session until the message's token comes back.
    bool post(std::size_t lane, const LaneMessage& message);
    // Token of a message that is complete, in the order of completion; empty if there is none.
    std::optional<std::uint64_t> take_completed();

    // Takes one datagram from the network. Anything not meant for this session is ignored.
    void receive(std::span<const std::byte> datagram, Time now);

    // Writes what is to be sent now; fewer than out.size() means that there is no more.
    std::size_t poll_transmit(Time now, std::span<SessionPacket> out);
    // When poll_transmit will have something to send again, if nothing happens before.
    Time next_deadline() const;

    // Ends the session: poll_transmit has the farewell, until the aggregator has answered it.
    void leave();
    // Nothing is left to be said.
    bool gone() const { return state_ == State::left && farewell_answered_; }

    std::optional<MissingRank> missing_rank() const { return missing_; }
    std::uint64_t retransmissions() const { return retransmissions_; }
    const PathEstimator& path() const { return path_; }

  private:
    // Packets under way, by lane and by how often they were sent: each level waits twice as long as
    // the one before, so each list is in order of time and only its front needs a look.
    static constexpr std::size_t levels = 6;

    struct LaneState {
        std::array<SlotList, levels> waiting;
        SlotList asked_for;  // by the aggregator: to be sent again at once
        std::uint32_t in_flight = 0;
        std::uint32_t sent_again = 0;  // of those, more than once
        // How many may be under way again after a timeout. A timeout alone tells a late rank from a
        // loss as little as a late answer does, so it asks with one packet; answers that prove
        // losses double the number, until packets flow again.
        std::uint32_t probes = 1;
        // Latest sending time among the packets that were sent once and answered. Results come in
        // the order of packets, so one that was sent well before and stays unanswered is lost.
        Time newest_answered{};
        // When the last result came: while they come, time alone says nothing.
        Time last_answer{};
    };

    struct InFlight {
        Time sent{};
        std::uint64_t delivered = 0;  // of the path, when it was sent
        std::uint8_t level = 0;
        bool once = true;        // sent exactly once: its result is a sample of the round trip
        bool pending = false;    // sent again, and the aggregator said that it waits for others
        bool asked_for = false;  // in that list
    };

    void begin_running(const nic::Welcome& welcome, std::uint64_t session, Time now);
    void fail(SessionFailure::Kind kind, std::uint32_t rank, std::string text);
    void check_joining(Time now);
    void check_aggregator(Time now);
    Time level_timeout(std::size_t level) const;
    bool is_due(const LaneState& lane, const InFlight& packet, Time now) const;
    Time timeout_of(const LaneState& lane, const InFlight& packet) const;
    void note_answer(LaneState& lane, const InFlight& packet, std::size_t payload_bytes, Time now);

    void receive_control(const nic::Header& header, std::span<const std::byte> payload, Time now);
    void receive_result(const nic::Header& header, std::span<const std::byte> payload, Time now);
    void receive_pending(const nic::Header& header, std::span<const std::byte> payload, Time now);
    void receive_contradiction(const nic::Header& header, std::span<const std::byte> payload);
    void release(LaneState& lane, std::uint32_t slot);

    std::size_t transmit_join(Time now, std::span<SessionPacket> out);
    std::size_t transmit_again(Time now, std::span<SessionPacket> out);
    void send_again(std::size_t lane, std::uint32_t slot, Time now, SessionPacket& out);
    SlotList& list_of(LaneState& lane, const InFlight& packet) const {
        return packet.asked_for ? lane.asked_for : lane.waiting[packet.level];
    }
    std::size_t transmit_fresh(Time now, std::span<SessionPacket> out);
    std::size_t transmit_heartbeat(Time now, std::span<SessionPacket> out);
    Time next_heartbeat() const;
    Time peer_timeout() const;
    void write_data(const LanePacket& packet, SessionPacket& out) const;
    SessionPacket control_packet(nic::PacketType type, std::span<const std::byte> payload) const;
    std::size_t lane_of(std::uint32_t slot) const;

    SessionConfig config_;
    State state_ = State::joining;
    SessionFailure failure_;
    nic::Welcome agreed_;
    std::uint64_t session_ = 0;

    // Joining.
    Time join_deadline_;
    Time next_join_;
    unsigned join_attempts_ = 0;
    std::vector<std::byte> join_payload_;
    std::size_t join_payload_wanted_ = 0;  // what padded attempts are padded to
    std::optional<nic::Waiting> last_waiting_;
    std::optional<Time> welcomed_;  // first welcome, if it answered an unpadded attempt
    bool large_answered_ = false;

    // Running.
    std::vector<Lane> lanes_;
    std::array<LaneState, lane_count> lane_states_;
    std::vector<InFlight> in_flight_;
    SlotLinks links_{0};
    std::uint32_t in_flight_count_ = 0;
    std::vector<std::uint64_t> completed_;  // a ring
    std::size_t completed_head_ = 0;
    std::size_t completed_count_ = 0;
    PathEstimator path_;
    CongestionWindow window_{1};
    Time last_heard_{};
    Time last_sent_{};
    std::optional<MissingRank> missing_;
    std::uint64_t retransmissions_ = 0;
    Time next_farewell_{};
    bool farewell_answered_ = false;
};

}  // namespace sumwire::runtime
