// What is known of each chunk of each tensor from the times before.
//
// Tensors are told apart by their count of elements and their tag. Everything here depends on the
// order of operations alone, so that all ranks know the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "runtime/engine/codec_policy.h"
#include "runtime/engine/lagged.h"

namespace sumwire::runtime {

template <std::uint64_t lag>
class UnionHistory {
  public:
    using ChunkHistory = Lagged<ChunkFacts, lag>;
    using Tensor = std::vector<ChunkHistory>;

    // The chunks of a tensor whose all_reduce is number `operation`. Stays where it is until `lag`
    // operations later.
    Tensor& tensor(std::uint64_t count, std::uint64_t tag, std::size_t chunks,
                   std::uint64_t operation) {
        auto [at, is_new] = tensors_.try_emplace({count, tag});
        at->second.last_used = operation;
        if (is_new) {
            at->second.chunks.resize(chunks);
            chunks_kept_ += chunks;
            forget_old(operation);
        }
        return at->second.chunks;
    }

  private:
    // Some megabytes; the chunks of gradients of 16 billion elements.
    static constexpr std::size_t max_chunks_kept = std::size_t{1} << 18;

    struct Entry {
        Tensor chunks;
        std::uint64_t last_used = 0;
    };

    // What may still be under way stays.
    void forget_old(std::uint64_t operation) {
        while (chunks_kept_ > max_chunks_kept) {
            auto oldest = tensors_.begin();
            for (auto at = tensors_.begin(); at != tensors_.end(); ++at) {
                if (at->second.last_used < oldest->second.last_used) oldest = at;
            }
            if (oldest->second.last_used + lag > operation) return;
            chunks_kept_ -= oldest->second.chunks.size();
            tensors_.erase(oldest);
        }
    }

    std::map<std::pair<std::uint64_t, std::uint64_t>, Entry> tensors_;
    std::size_t chunks_kept_ = 0;
};

}  // namespace sumwire::runtime
