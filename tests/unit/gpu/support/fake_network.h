// A world of ranks in one process, whose messages are combined as the codec's contract says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gpu/codec/chunk_codec.h"

namespace sumwire::gpu::testing {

using Gradients = std::vector<std::vector<float>>;  // one for each rank

struct Outcome {
    Progress progress = Progress::inconsistent;
    Gradients results;
    std::uint32_t union_size = 0;
    bool stalled = false;
    unsigned rounds = 0;
    std::vector<std::size_t> message_bytes;  // in the order they were exchanged
};

class World {
  public:
    explicit World(const CodecConfig& config);

    // The gradients lie `offset` floats into an allocation. Fails the test where ranks disagree.
    Outcome reduce(const Gradients& gradients, Reduction reduction = Reduction::sum,
                   std::uint32_t expected_union = ChunkTask::unknown_union, std::uint64_t seed = 1,
                   std::size_t offset = 0);

  private:
    CodecConfig config_;
    std::vector<std::unique_ptr<ChunkCodec>> codecs_;
};

// Combines message `m` of all ranks into every rank's.
void combine_message(const std::vector<std::unique_ptr<ChunkCodec>>& codecs, std::size_t m);

}  // namespace sumwire::gpu::testing
