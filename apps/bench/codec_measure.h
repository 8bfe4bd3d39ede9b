// One codec on the gradients of all workers of a step, combined in memory: no network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "gpu/codec/chunk_codec.h"

namespace sumwire::apps {

struct CodecMeasurement {
    std::uint64_t wire_bytes = 0;  // of the messages of rank 0, one direction, without headers
    std::uint64_t stalls = 0;      // chunks that needed the repair round
    double encode_seconds = 0;     // medians over the repetitions; rank 0 alone
    double decode_seconds = 0;
    double memcpy_seconds = 0;  // of the dense bytes
    bool exact = false;         // every rank's result of every repetition
};

struct CodecRun {
    gpu::CodecConfig config;
    // Every chunk's union is known from an earlier pass over the same gradients, as it is from the
    // last step in a training run.
    bool warmed = false;
    unsigned repetitions = 5;
};

// Whether these are the right sums.
using SumCheck = std::function<bool(std::span<const float>)>;

// `gradients`: one per rank of the configuration's world, of one length above 0. Encoding is what a
// rank does before the last exchange of a chunk, decoding what it does after it (and, if the
// peeling stalls, up to the request for the missing values).
CodecMeasurement measure_codec(const std::vector<std::vector<float>>& gradients,
                               const CodecRun& run, const SumCheck& is_right);

}  // namespace sumwire::apps
