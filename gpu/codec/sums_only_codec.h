// A codec for networks that can only add 32-bit words: ors and maxima travel as counters
// (counters.h), everything else as it is.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/codec/chunk_codec.h"

namespace sumwire::gpu {

// The codec's messages must be bit_or, add_i32, or max_u8 of a few bytes. 1 to max_counted_ranks.
std::unique_ptr<ChunkCodec> make_sums_only(std::unique_ptr<ChunkCodec> codec,
                                           std::uint32_t world_size);

}  // namespace sumwire::gpu
