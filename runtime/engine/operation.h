// A collective on its way through the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "gpu/codec/chunk_codec.h"
#include "nic/time.h"
#include "runtime/engine/completion.h"

namespace sumwire::runtime {

// What all ranks must ask for alike.
struct CollectiveCall {
    enum class Kind : std::uint8_t { all_reduce, barrier };

    Kind kind = Kind::all_reduce;
    std::uint64_t count = 0;  // elements
    gpu::DataType type = gpu::DataType::f32;
    gpu::Reduction reduction = gpu::Reduction::sum;
    std::optional<gpu::Codec> codec;  // empty: chosen chunk by chunk
    gpu::Arithmetic arithmetic = gpu::Arithmetic::exact;
    std::uint64_t tag = 0;  // tensors of one size and tag share what is known of their non-zeros

    // Whether codec and history matter to it.
    bool has_codec() const {
        return kind == Kind::all_reduce && !gpu::is_extremum(reduction) &&
               type != gpu::DataType::f64 && type != gpu::DataType::i64;
    }
};

struct Operation {
    CollectiveCall call;
    void* values = nullptr;
    Time deadline = never;
    std::shared_ptr<Completion> completion;
};

}  // namespace sumwire::runtime
