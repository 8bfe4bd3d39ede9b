#include "runtime/engine/codec_pool.h"

#include <functional>
#include <utility>

namespace sumwire::runtime {

nic::MemoryRegion* PooledCodec::region_of(std::span<const std::byte> bytes) const {
    if (!region || bytes.empty()) return nullptr;
    const std::span<std::byte> memory = codec->payload_memory();
    const std::less_equal<> before;
    const bool inside = before(memory.data(), bytes.data()) &&
                        before(bytes.data() + bytes.size(), memory.data() + memory.size());
    return inside ? region.get() : nullptr;
}

std::unique_ptr<PooledCodec> CodecPool::take(gpu::Codec codec, gpu::Arithmetic arithmetic) {
    Shelf& at_rest = shelf(codec, arithmetic);
    if (!at_rest.empty()) {
        auto pooled = std::move(at_rest.back());
        at_rest.pop_back();
        return pooled;
    }
    auto pooled = std::make_unique<PooledCodec>();
    pooled->config = {.codec = codec, .arithmetic = arithmetic, .world_size = world_size_};
    pooled->codec = gpu::make_chunk_codec(device_, pooled->config);
    pooled->region = port_.register_memory(pooled->codec->payload_memory());
    return pooled;
}

void CodecPool::put_back(std::unique_ptr<PooledCodec> codec) {
    const gpu::CodecConfig config = codec->config;
    shelf(config.codec, config.arithmetic).push_back(std::move(codec));
}

}  // namespace sumwire::runtime
