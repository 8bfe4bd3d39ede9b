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

std::unique_ptr<PooledCodec> CodecPool::take(gpu::CodecConfig config) {
    const std::size_t number = shelf_of(config);
    Shelf& at_rest = shelves_[number];
    if (!at_rest.empty()) {
        auto pooled = std::move(at_rest.back());
        at_rest.pop_back();
        return pooled;
    }
    config.world_size = world_size_;
    auto pooled = std::make_unique<PooledCodec>();
    pooled->shelf = number;
    pooled->codec = gpu::make_chunk_codec(device_, config);
    pooled->region = port_.register_memory(pooled->codec->payload_memory());
    return pooled;
}

void CodecPool::put_back(std::unique_ptr<PooledCodec> codec) {
    const std::size_t shelf = codec->shelf;
    shelves_[shelf].push_back(std::move(codec));
}

}  // namespace sumwire::runtime
