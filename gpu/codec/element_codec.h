// Chunks that travel as they are, an element of the wire for each of the tensor: sums of 64-bit
// types, and minima and maxima of all types.
//
// The network only takes the maximum of unsigned integers. A signed integer is mapped to one by
// inverting its highest bit; a float by inverting its highest bit if it is positive and all its
// bits if it is negative, and NaN to the largest of all; for minima all bits are inverted, after
// which NaN is again the largest.
#pragma once

#include <memory>

#include "gpu/codec/chunk_codec.h"

namespace sumwire::gpu {

std::unique_ptr<ChunkCodec> make_element_codec(Device& device, const CodecConfig& config);

}  // namespace sumwire::gpu
