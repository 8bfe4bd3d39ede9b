// Which codec a chunk takes, from what all ranks know alike.
//
// The time of a chunk is its bytes on the slowest link, the work of encoding and decoding it, and
// its round trips, which the operation's chunks share because they overlap. All of it in doubles
// from the same numbers, so that all ranks decide alike.
#pragma once

#include <cstdint>

#include "gpu/codec/chunk_codec.h"
#include "runtime/engine/link_costs.h"

namespace sumwire::runtime {

// What is known of a chunk from the last time.
struct ChunkFacts {
    std::uint32_t union_size = gpu::ChunkTask::unknown_union;
    gpu::Codec codec = gpu::Codec::packed;  // that it took
    std::uint8_t uses = 0;                  // since the union was last measured

    bool known() const { return union_size != gpu::ChunkTask::unknown_union; }
};

struct PolicyInput {
    std::uint32_t count = 0;            // of the chunk
    std::size_t operation_chunks = 1;  // of the operation it belongs to
    gpu::DataType type = gpu::DataType::f32;
    gpu::Arithmetic arithmetic = gpu::Arithmetic::exact;
    LinkCosts link;
};

// A chunk without facts is packed: its first round tells how full it is. So is, every sixteenth
// time, a chunk that travels dense, which tells nothing. A codec is given up for one that takes a
// twentieth less.
gpu::Codec choose_codec(const PolicyInput& input, const ChunkFacts& facts);

}  // namespace sumwire::runtime
