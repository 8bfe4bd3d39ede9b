// How many elements each chunk's union held when a tensor of this size was last reduced: what a
// sketch's size is chosen from. Must be the same on all ranks, so it only depends on the order of
// operations: a tensor's sketch starts when the one before it of the same size has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "gpu/codec/chunk_codec.h"

namespace sumwire::runtime {

// Keeps four bytes for each chunk of each size of tensor ever seen.
class UnionHistory {
  public:
    // Whether the last operation on a tensor of this many elements is still under way.
    bool busy(std::size_t count) const {
        const auto entry = tensors_.find(count);
        return entry != tensors_.end() && entry->second.busy;
    }

    void begin(std::size_t count) {
        Tensor& tensor = tensors_[count];
        tensor.busy = true;
        const std::size_t chunks = (count + gpu::chunk_elements - 1) / gpu::chunk_elements;
        tensor.unions.resize(chunks, gpu::ChunkTask::unknown_union);
    }

    void end(std::size_t count) { tensors_.at(count).busy = false; }

    std::uint32_t& chunk(std::size_t count, std::size_t chunk) {
        return tensors_.at(count).unions[chunk];
    }

  private:
    struct Tensor {
        bool busy = false;
        std::vector<std::uint32_t> unions;
    };

    std::unordered_map<std::size_t, Tensor> tensors_;
};

}  // namespace sumwire::runtime
