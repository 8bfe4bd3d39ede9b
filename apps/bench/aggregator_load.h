// Synthetic contributions to an aggregator, laid out as they lie in a received frame, and the
// results that they must lead to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.h"
#include "nic/wire.h"

namespace sumwire::apps {

struct LoadSpec {
    unsigned workers = 4;
    unsigned slots = 64;
    std::size_t payload_bytes = 1024;
    nic::Op op = nic::Op::add_i32;
};

// Slots in two versions with different data, so that a result of the other version is noticed.
class AggregatorLoad {
  public:
    explicit AggregatorLoad(const LoadSpec& spec);

    const LoadSpec& spec() const { return spec_; }
    std::span<std::byte> memory() const { return memory_.bytes(); }

    // Header and payload of one contribution; the header's bytes are the caller's to write. The
    // payload starts on a cache line.
    std::span<std::byte> datagram(bool version, unsigned slot, unsigned rank) const;
    std::span<const std::byte> payload(bool version, unsigned slot, unsigned rank) const;
    // What the ranks' payloads of a slot combine to, computed word by word.
    std::span<const std::byte> expected(bool version, unsigned slot) const;

    // The header of the packet that is `sequence`-th on its slots, each slot used in turn.
    nic::Header header(std::uint32_t sequence, unsigned rank, std::uint64_t session) const;

  private:
    std::size_t index(bool version, unsigned slot) const;

    LoadSpec spec_;
    std::size_t frame_bytes_ = 0;
    gpu::DeviceBuffer memory_;
    std::vector<std::byte> expected_;
};

// "or", "add_i32" and so on.
std::vector<std::string> all_op_names();
// Throws std::invalid_argument naming them.
nic::Op parse_op(std::string_view text);

// Packets that enter and leave a job, as whole datagrams. A join is always padded to the payload: a
// path that drops datagrams of the chosen size is a reason to stop.
std::vector<std::byte> join_datagram(const LoadSpec& spec, unsigned rank, std::uint64_t nonce);
std::vector<std::byte> leave_datagram(unsigned rank, std::uint64_t session);

}  // namespace sumwire::apps
