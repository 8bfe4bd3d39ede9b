// Datagrams that a state machine wants sent.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "nic/control.h"
#include "nic/endpoint.h"
#include "nic/wire.h"

namespace sumwire::aggregator {

struct Outgoing {
    nic::Endpoint to;
    std::array<std::byte, nic::header_bytes> header{};
    std::span<const std::byte> payload;
    // Answers to one destination have one group; those to others mostly have other ones.
    std::uint16_t group = 0;
};

inline constexpr std::uint16_t answer_groups = 1024;

// Filled by the aggregator, emptied by whoever transmits. Keeps its memory; grows when more than
// `capacity` packets wait.
class Outbox {
  public:
    explicit Outbox(std::size_t capacity = 4096) { packets_.reserve(capacity); }

    Outgoing& add() { return packets_.emplace_back(); }
    // Zeroed memory for one control payload, at most max_control_payload, valid until clear.
    std::span<std::byte> control_payload(std::size_t bytes);
    static constexpr std::size_t max_control_payload = 64U * 1024;

    std::span<const Outgoing> packets() const { return packets_; }
    bool empty() const { return packets_.empty(); }
    void clear();

  private:
    std::vector<Outgoing> packets_;
    std::vector<std::unique_ptr<std::byte[]>> blocks_;  // of max_control_payload bytes each
    std::size_t block_ = 0;                             // the one being filled
    std::size_t used_ = 0;                              // bytes of it
};

}  // namespace sumwire::aggregator
