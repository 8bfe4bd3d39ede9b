// The public interface's choices as the codecs know them.
#pragma once

#include <optional>

#include "gpu/codec/chunk_codec.h"
#include "sumwire/communicator.h"

namespace sumwire::runtime {

// Throw SetupError for a value that is none.
std::optional<gpu::Codec> to_gpu(Codec codec);  // empty: automatic
gpu::Arithmetic to_gpu(Arithmetic arithmetic);
gpu::DataType to_gpu(DataType type);
gpu::Reduction to_gpu(ReduceOp op);

}  // namespace sumwire::runtime
