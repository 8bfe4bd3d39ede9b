#include "gpu/codec/chunk_codec.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "gpu/codec/counters.h"
#include "gpu/codec/element_codec.h"
#include "gpu/codec/round_codec.h"
#include "gpu/codec/sums_only_codec.h"

namespace sumwire::gpu {

namespace {

constexpr std::uint32_t max_world_size = 1024;

bool travels_as_elements(const CodecConfig& config) {
    return config.extrema || size_of(config.type) == sizeof(std::uint64_t);
}

std::unique_ptr<ValueCoder> make_coder(const CodecConfig& config) {
    if (config.type == DataType::i32) return make_integer_coder(config.world_size);
    switch (config.arithmetic) {
        case Arithmetic::exact:
            return make_exact_coder(config.world_size);
        case Arithmetic::f32:
            return make_float_coder(config.world_size);
        case Arithmetic::fixed32:
            return make_fixed32_coder(config.world_size);
    }
    throw std::invalid_argument("unknown arithmetic; choose exact, f32 or fixed32");
}

void check_sketch(const CodecConfig& config) {
    if (config.type == DataType::i32) {
        throw std::invalid_argument(
            "a sketch of int32 is not supported; use the dense or packed codec");
    }
    if (config.arithmetic == Arithmetic::f32) {
        throw std::invalid_argument(
            "a sketch cannot hold float sums, which lose bits by cancellation; use exact or "
            "fixed32 arithmetic, or the dense or packed codec");
    }
}

void check_sums_only(const CodecConfig& config) {
    if (config.extrema || size_of(config.type) == sizeof(std::uint64_t) ||
        (config.type != DataType::i32 && config.arithmetic != Arithmetic::fixed32)) {
        throw std::invalid_argument(
            "a network that only adds 32-bit integers sums fixed32 and i32; use one of these");
    }
    if (config.world_size > max_counted_ranks) {
        throw std::invalid_argument("world size " + std::to_string(config.world_size) +
                                    " is too large for a network that only adds; use at most " +
                                    std::to_string(max_counted_ranks) + " ranks");
    }
}

}  // namespace

std::unique_ptr<ChunkCodec> make_chunk_codec(Device& device, const CodecConfig& config) {
    if (config.world_size == 0 || config.world_size > max_world_size) {
        throw std::invalid_argument("world size " + std::to_string(config.world_size) +
                                    " is not supported; use 1 to 1024 ranks");
    }
    if (config.sums_only) {
        check_sums_only(config);
        CodecConfig inner = config;
        inner.sums_only = false;
        return make_sums_only(make_chunk_codec(device, inner), config.world_size);
    }
    if (travels_as_elements(config)) return make_element_codec(device, config);
    CodecParts parts{.device = device, .coder = make_coder(config), .type = config.type};
    // Gradients take about one word an element.
    if (config.arithmetic == Arithmetic::exact) parts.payload_words = 2 * chunk_elements;
    switch (config.codec) {
        case Codec::dense:
            return make_dense_codec(std::move(parts));
        case Codec::packed:
            return make_packed_codec(std::move(parts));
        case Codec::sketch:
            check_sketch(config);
            return make_sketch_codec(std::move(parts), config.arithmetic == Arithmetic::fixed32
                                                           ? SketchKeys::positions
                                                           : SketchKeys::ordinals);
    }
    throw std::invalid_argument("unknown codec; choose dense, packed or sketch");
}

}  // namespace sumwire::gpu
