// A collective on its way through the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "gpu/codec/chunk_codec.h"
#include "nic/time.h"
#include "runtime/engine/completion.h"

namespace sumwire::runtime {

struct Operation {
    enum class Kind : std::uint8_t { all_reduce, barrier };

    Kind kind = Kind::all_reduce;
    float* values = nullptr;
    std::size_t count = 0;  // all_reduce: at least 1
    gpu::Reduction reduction = gpu::Reduction::sum;
    gpu::Codec codec = gpu::Codec::packed;
    gpu::Arithmetic arithmetic = gpu::Arithmetic::exact;
    Time deadline = never;
    std::shared_ptr<Completion> completion;
};

}  // namespace sumwire::runtime
