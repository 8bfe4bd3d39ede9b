#include "switch_emu/outbox.h"

#include <cstring>

namespace sumwire::aggregator {
namespace {

// Kept over clear(); what one large round of answers to joins took beyond this is given back.
constexpr std::size_t blocks_kept = 16;

}  // namespace

std::span<std::byte> Outbox::control_payload(std::size_t bytes) {
    if (used_ + bytes > max_control_payload) {
        ++block_;
        used_ = 0;
    }
    if (block_ == blocks_.size()) {
        blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(max_control_payload));
    }
    const std::span<std::byte> payload(blocks_[block_].get() + used_, bytes);
    std::memset(payload.data(), 0, bytes);
    used_ += bytes;
    return payload;
}

void Outbox::clear() {
    packets_.clear();
    if (blocks_.size() > blocks_kept) blocks_.resize(blocks_kept);
    block_ = 0;
    used_ = 0;
}

}  // namespace sumwire::aggregator
