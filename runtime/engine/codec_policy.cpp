#include "runtime/engine/codec_policy.h"

#include <algorithm>

namespace sumwire::runtime {

namespace {

using gpu::Arithmetic;
using gpu::Codec;

constexpr double block = 32;
constexpr double packet_overhead = 1.02;
constexpr std::uint8_t uses_between_probes = 15;
constexpr double hysteresis = 0.95;
// Sending and computing of different chunks overlap, but never wholly: the first chunk's encoding
// and the last one's decoding stand alone.
constexpr double not_hidden = 0.25;

// Words an element, its digits' carries included.
double words_per_element(const PolicyInput& input) {
    if (input.arithmetic != Arithmetic::exact) return 1.0;
    return gpu::size_of(input.type) == 2 ? 0.7 : 1.1;
}

double dense_bytes(const PolicyInput& input) {
    const double n = input.count;
    const double values = 4 * n * words_per_element(input);
    return input.arithmetic == Arithmetic::exact ? values + 2 * n / block : values;
}

double packed_bytes(const PolicyInput& input, double united) {
    const double n = input.count;
    // Between runs, which fill their blocks, and lone elements; half of either.
    const double blocks = std::min(n / block, united / block + united / block / 2);
    const double level = n / block / 4;
    const double index = united < n ? 2 * blocks : 0;
    const double ranges = input.arithmetic == Arithmetic::exact ? 2 * blocks : 0;
    return level + index + ranges + 4 * united * words_per_element(input);
}

double sketch_bytes(const PolicyInput& input, double united) {
    return input.count / 8.0 + std::min<double>(4.0 * input.count, 4 * 1.2 * united);
}

// Nanoseconds of one core: for each element of the chunk, and for each of the union. Measured with
// `sumwire-bench codec` on a Zen 3 core; only their proportions matter, and these vary less.
struct Work {
    double element;
    double united;
};

Work work_of(Codec codec, Arithmetic arithmetic) {
    const bool exact = arithmetic == Arithmetic::exact;
    switch (codec) {
        case Codec::dense:
            return exact ? Work{1.6, 0} : Work{1.0, 0};
        case Codec::packed:
            return exact ? Work{0.7, 2.5} : Work{0.6, 1.0};
        case Codec::sketch:
            return {0.8, 16};
    }
    return {};
}

double seconds(Codec codec, const PolicyInput& input, const ChunkFacts& facts) {
    const double united = std::min(facts.union_size, input.count);
    const bool exact = input.arithmetic == Arithmetic::exact;
    const Work work = work_of(codec, input.arithmetic);
    const double computing = (work.element * input.count + work.united * united) * 1e-9;
    double bytes = 0;
    double rounds = 1;
    switch (codec) {
        case Codec::dense:
            bytes = dense_bytes(input);
            rounds = input.arithmetic == Arithmetic::f32 ? 1 : 2;
            break;
        case Codec::packed:
            bytes = packed_bytes(input, united);
            rounds = united == 0 ? 1 : exact || united < input.count ? 3 : 2;
            break;
        case Codec::sketch:
            bytes = sketch_bytes(input, united);
            rounds = 2;
            break;
    }
    const double sending = bytes * packet_overhead * input.link.seconds_per_byte();
    const double waiting =
        rounds * input.link.round_trip_seconds() / static_cast<double>(input.operation_chunks);
    return std::max(sending, computing) + not_hidden * std::min(sending, computing) + waiting;
}

}  // namespace

Codec choose_codec(const PolicyInput& input, const ChunkFacts& facts) {
    if (!facts.known()) return Codec::packed;
    if (facts.codec == Codec::dense && facts.uses >= uses_between_probes) return Codec::packed;
    Codec best = facts.codec;
    double least = seconds(best, input, facts) * hysteresis;
    for (const Codec codec : {Codec::dense, Codec::packed, Codec::sketch}) {
        if (codec == Codec::sketch && input.arithmetic != Arithmetic::fixed32) continue;
        const double needed = seconds(codec, input, facts);
        if (needed >= least) continue;
        least = needed;
        best = codec;
    }
    return best;
}

}  // namespace sumwire::runtime
