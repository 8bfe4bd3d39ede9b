// One codec on the gradients of all workers of a step, combined in memory: no network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "apps/bench/typed_gradients.h"
#include "apps/support/sum_choice.h"
#include "runtime/engine/link_costs.h"

namespace sumwire::apps {

struct CodecMeasurement {
    // Of the messages of rank 0, one direction, without headers: in the steady state, and at first.
    std::uint64_t wire_bytes = 0;
    std::uint64_t first_wire_bytes = 0;
    std::uint64_t stalls = 0;   // chunks that needed the repair round, in the last pass
    double encode_seconds = 0;  // medians over the repetitions; rank 0 alone
    double decode_seconds = 0;
    double memcpy_seconds = 0;  // of the dense bytes
    bool exact = false;         // every rank's result of every pass
};

struct CodecRun {
    SumChoice choice;
    runtime::LinkCosts link;  // what Codec::automatic assumes
    unsigned repetitions = 5;
};

// Whether these are the right sums.
using SumCheck = std::function<bool(std::span<const std::byte>)>;

// Times the steady state: every chunk's union is known from the pass before, as it is from the step
// before in a training run. Encoding is what a rank does before the last exchange of a chunk,
// decoding what it does after it (and, if the peeling stalls, up to the request for the missing
// values). There is one element at least.
CodecMeasurement measure_codec(const TypedGradients& gradients, const CodecRun& run,
                               const SumCheck& is_right);

}  // namespace sumwire::apps
