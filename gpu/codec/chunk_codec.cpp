#include "gpu/codec/chunk_codec.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "gpu/codec/round_codec.h"

namespace sumwire::gpu {

namespace {

constexpr std::uint32_t max_world_size = 1024;

std::unique_ptr<ValueCoder> make_coder(const CodecConfig& config) {
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

}  // namespace

std::unique_ptr<ChunkCodec> make_chunk_codec(Device& device, const CodecConfig& config) {
    if (config.world_size == 0 || config.world_size > max_world_size) {
        throw std::invalid_argument("world size " + std::to_string(config.world_size) +
                                    " is not supported; use 1 to 1024 ranks");
    }
    auto coder = make_coder(config);
    // Gradients take about one word an element.
    const std::size_t payload_words =
        config.arithmetic == Arithmetic::exact ? 2 * chunk_elements : chunk_elements;
    switch (config.codec) {
        case Codec::dense:
            return make_dense_codec(device, std::move(coder), payload_words);
        case Codec::packed:
            return make_packed_codec(device, std::move(coder), payload_words);
        case Codec::sketch:
            break;
    }
    if (config.arithmetic == Arithmetic::f32) {
        throw std::invalid_argument(
            "a sketch cannot hold float sums, which lose bits by cancellation; use exact or "
            "fixed32 "
            "arithmetic, or the dense or packed codec");
    }
    return make_sketch_codec(
        device, std::move(coder),
        config.arithmetic == Arithmetic::fixed32 ? SketchKeys::positions : SketchKeys::ordinals);
}

}  // namespace sumwire::gpu
