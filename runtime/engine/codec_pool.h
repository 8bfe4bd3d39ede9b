// Chunk codecs at rest, by codec and arithmetic, each with its payload memory registered.
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
    gpu::CodecConfig config;
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
    // once.
    std::unique_ptr<PooledCodec> take(gpu::Codec codec, gpu::Arithmetic arithmetic);
    void put_back(std::unique_ptr<PooledCodec> codec);

  private:
    using Shelf = std::vector<std::unique_ptr<PooledCodec>>;
    static constexpr std::size_t kinds = 3;

    Shelf& shelf(gpu::Codec codec, gpu::Arithmetic arithmetic) {
        return shelves_[static_cast<std::size_t>(codec) * kinds +
                        static_cast<std::size_t>(arithmetic)];
    }

    gpu::Device& device_;
    nic::PacketPort& port_;
    std::uint32_t world_size_;
    std::array<Shelf, kinds * kinds> shelves_;
};

}  // namespace sumwire::runtime
