#include "runtime/session/lane.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sumwire::runtime {

Lane::Lane(std::uint32_t first_slot, std::uint32_t slots, std::size_t payload_bytes,
           std::size_t max_messages, std::uint32_t first_sequence)
    : first_slot_(first_slot),
      mask_(slots - 1),
      payload_bytes_(payload_bytes),
      slots_(slots),
      messages_(std::bit_ceil(max_messages)),
      next_sequence_(first_sequence) {}

bool Lane::post(const LaneMessage& message) {
    if (posted_ - oldest_ == messages_.size()) return false;
    MessageState& state = messages_[posted_ % messages_.size()];
    state.message = message;
    const std::size_t packets = (message.bytes.size() + payload_bytes_ - 1) / payload_bytes_;
    state.packets_left = static_cast<std::uint32_t>(std::max<std::size_t>(packets, 1));
    ++posted_;
    return true;
}

std::span<std::byte> Lane::payload_at(const MessageState& state, std::size_t offset) const {
    const std::size_t left = state.message.bytes.size() - offset;
    return state.message.bytes.subspan(offset, std::min(left, payload_bytes_));
}

LanePacket Lane::describe(std::uint32_t index) const {
    const SlotState& slot = slots_[index];
    const MessageState& state = messages_[slot.message];
    return {.slot = first_slot_ + index,
            .version = (slot.sequence & (mask_ + 1)) != 0,
            .sequence = slot.sequence,
            .op = state.message.op,
            .payload = payload_at(state, slot.offset),
            .region = state.message.region};
}

std::optional<LanePacket> Lane::next_packet() {
    if (sending_ == posted_) return std::nullopt;
    const std::uint32_t index = next_sequence_ & mask_;
    SlotState& slot = slots_[index];
    if (slot.busy) return std::nullopt;

    const auto message = static_cast<std::uint32_t>(sending_ % messages_.size());
    slot = {.busy = true, .sequence = next_sequence_++, .message = message, .offset = send_offset_};
    send_offset_ += payload_bytes_;
    if (send_offset_ >= messages_[message].message.bytes.size()) {
        ++sending_;
        send_offset_ = 0;
    }
    return describe(index);
}

LanePacket Lane::packet_in(std::uint32_t slot) const {
    return describe(slot - first_slot_);
}

bool Lane::occupied(std::uint32_t slot, std::uint32_t sequence) const {
    const SlotState& state = slots_[slot - first_slot_];
    return state.busy && state.sequence == sequence;
}

Lane::Accepted Lane::accept(const nic::Header& header, std::span<const std::byte> payload) {
    if (!occupied(header.slot, header.sequence)) return Accepted::no;
    SlotState& slot = slots_[header.slot - first_slot_];
    MessageState& state = messages_[slot.message];
    const std::span<std::byte> target = payload_at(state, slot.offset);
    if (header.op != state.message.op || payload.size() != target.size()) return Accepted::no;

    if (!payload.empty()) std::memcpy(target.data(), payload.data(), payload.size());
    slot.busy = false;
    if (--state.packets_left != 0) return Accepted::packet;
    completed_token_ = state.message.token;
    drop_finished();
    return Accepted::message;
}

void Lane::drop_finished() {
    while (oldest_ != sending_ && messages_[oldest_ % messages_.size()].packets_left == 0)
        ++oldest_;
}

}  // namespace sumwire::runtime
