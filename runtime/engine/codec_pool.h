// Chunk codecs at rest, by configuration, each with its payload memory registered.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "gpu/codec/chunk_codec.h"
#include "gpu/device.h"
#include "nic/port.h"

namespace sumwire::runtime {

// A codec and the registration of its payload memory, which ends first.
struct PooledCodec {
    std::size_t shelf = 0;
    std::unique_ptr<gpu::ChunkCodec> codec;
    std::unique_ptr<nic::MemoryRegion> region;

    // The region that holds these bytes, or null if they lie outside of it.
    nic::MemoryRegion* region_of(std::span<const std::byte> bytes) const;
};

class CodecPool {
  public:
    // The device and the port must outlive the pool and everything taken from it.
    CodecPool(gpu::Device& device, nic::PacketPort& port, std::uint32_t world_size)
        : device_(device), port_(port), world_size_(world_size) {}

    // Makes a codec if none is at rest: allocates while the pool grows to what is under way at
    // once. The world size is the pool's.
    std::unique_ptr<PooledCodec> take(gpu::CodecConfig config);
    void put_back(std::unique_ptr<PooledCodec> codec);

  private:
    using Shelf = std::vector<std::unique_ptr<PooledCodec>>;
    static constexpr std::size_t codecs = 3;
    static constexpr std::size_t arithmetics = 3;
    static constexpr std::size_t types = 6;

    static std::size_t shelf_of(const gpu::CodecConfig& config) {
        const auto codec = static_cast<std::size_t>(config.codec);
        const auto arithmetic = static_cast<std::size_t>(config.arithmetic);
        const auto type = static_cast<std::size_t>(config.type);
        const std::size_t kind = (type * arithmetics + arithmetic) * codecs + codec;
        return 2 * kind + (config.extrema ? 1 : 0);
    }

    gpu::Device& device_;
    nic::PacketPort& port_;
    std::uint32_t world_size_;
    std::array<Shelf, 2 * types * arithmetics * codecs> shelves_;
};

}  // namespace sumwire::runtime
