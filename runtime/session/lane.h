// A lane: a FIFO of messages, cut into packets that are numbered on and on over the session's life.
//
// Packet k uses slot k % slots of the lane's range and version (k / slots) % 2. It may be sent once
// the result of packet k - slots is here (aggregator.h says why). So message sizes may depend on
// what came back earlier, as long as every rank posts the same messages in the same order. Numbers
// wrap at 2^32, which changes nothing: it is a multiple of 2 * slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nic/port.h"
#include "nic/time.h"
#include "nic/wire.h"

namespace sumwire::runtime {

// One message: this rank's contribution when posted, the aggregate when completed.
struct LaneMessage {
    nic::Op op = nic::Op::none;
    std::span<std::byte> bytes;           // may be empty: one packet without payload
    nic::MemoryRegion* region = nullptr;  // where the bytes are registered, or null
    std::uint64_t token = 0;              // the poster's, handed back on completion
};

// A packet to be sent, as the lane describes it.
struct LanePacket {
    std::uint32_t slot = 0;  // of the session, not of the lane
    bool version = false;
    std::uint32_t sequence = 0;
    nic::Op op = nic::Op::none;
    std::span<const std::byte> payload;
    nic::MemoryRegion* region = nullptr;
};

class Lane {
  public:
    // Slots [first_slot, first_slot + slots) of the session, a power of two of them. Packets are
    // numbered from first_sequence on.
    Lane(std::uint32_t first_slot, std::uint32_t slots, std::size_t payload_bytes,
         std::size_t max_messages, std::uint32_t first_sequence = 0);

    // False if max_messages wait already.
    bool post(const LaneMessage& message);

    // The next packet whose slot is free, which it then occupies; empty if there is none.
    std::optional<LanePacket> next_packet();
    // The packet that occupies a slot of this lane, for sending again.
    LanePacket packet_in(std::uint32_t slot) const;

    enum class Accepted : std::uint8_t { no, packet, message };
    // Takes a result if it is what its slot waits for: copies it over the contribution and frees
    // the slot. On Accepted::message, completed_token() tells which message is whole.
    Accepted accept(const nic::Header& header, std::span<const std::byte> payload);
    std::uint64_t completed_token() const { return completed_token_; }

    bool occupied(std::uint32_t slot, std::uint32_t sequence) const;

  private:
    struct MessageState {
        LaneMessage message;
        std::uint32_t packets_left = 0;
    };
    struct SlotState {
        bool busy = false;
        std::uint32_t sequence = 0;
        std::uint32_t message = 0;  // index into messages_
        std::size_t offset = 0;
    };

    std::span<std::byte> payload_at(const MessageState& state, std::size_t offset) const;
    LanePacket describe(std::uint32_t index) const;
    void drop_finished();

    std::uint32_t first_slot_;
    std::uint32_t mask_;
    std::size_t payload_bytes_;
    std::vector<SlotState> slots_;

    // A ring: messages from oldest_ to posted_, those before sending_ are sent completely.
    std::vector<MessageState> messages_;
    std::uint64_t oldest_ = 0;
    std::uint64_t sending_ = 0;
    std::uint64_t posted_ = 0;
    std::size_t send_offset_ = 0;  // within the message at sending_
    std::uint32_t next_sequence_;
    std::uint64_t completed_token_ = 0;
};

}  // namespace sumwire::runtime
