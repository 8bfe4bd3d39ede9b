#include "gpu/codec/sums_only_codec.h"

#include <array>
#include <utility>
#include <vector>

#include "gpu/codec/counters.h"

namespace sumwire::gpu {

namespace {

class SumsOnlyCodec final : public ChunkCodec {
  public:
    SumsOnlyCodec(std::unique_ptr<ChunkCodec> codec, std::uint32_t world_size)
        : codec_(std::move(codec)), counter_bits_(counter_bits(world_size)) {
        constexpr std::size_t index_bytes = chunk_elements / 8;
        for (std::vector<std::byte>& counters : counters_)
            counters.resize(bit_counter_bytes(index_bytes, counter_bits_));
    }

    Progress begin(const ChunkTask& task) override { return count(codec_->begin(task)); }

    Progress advance() override {
        for (std::size_t m = 0; m < codec_->messages().size(); ++m) {
            const Message& inner = codec_->messages()[m];
            if (inner.combine == Combine::bit_or) {
                or_of(messages_[m].bytes, counter_bits_, inner.bytes);
            } else if (inner.combine == Combine::max_u8) {
                maximum_of(messages_[m].bytes, counter_bits_, inner.bytes);
            }
        }
        return count(codec_->advance());
    }

    std::span<const Message> messages() const override {
        return std::span(messages_).first(codec_->messages().size());
    }
    std::uint32_t union_size() const override { return codec_->union_size(); }
    bool stalled() const override { return codec_->stalled(); }
    std::span<std::byte> payload_memory() override { return codec_->payload_memory(); }

  private:
    Progress count(Progress progress) {
        if (progress != Progress::exchange) return progress;
        for (std::size_t m = 0; m < codec_->messages().size(); ++m) {
            const Message& inner = codec_->messages()[m];
            Message& outer = messages_[m];
            outer = {Combine::add_i32, inner.bytes};
            if (inner.combine == Combine::bit_or) {
                outer.bytes = room(m, bit_counter_bytes(inner.bytes.size(), counter_bits_));
                count_bits(inner.bytes, counter_bits_, outer.bytes);
            } else if (inner.combine == Combine::max_u8) {
                outer.bytes = room(m, byte_counter_bytes(inner.bytes.size(), counter_bits_));
                count_bytes(inner.bytes, counter_bits_, outer.bytes);
            }
        }
        return progress;
    }

    std::span<std::byte> room(std::size_t message, std::size_t bytes) {
        std::vector<std::byte>& counters = counters_[message];
        if (counters.size() < bytes) counters.resize(bytes);
        return std::span(counters).first(bytes);
    }

    std::unique_ptr<ChunkCodec> codec_;
    unsigned counter_bits_;
    std::array<std::vector<std::byte>, max_messages> counters_;
    std::array<Message, max_messages> messages_;
};

}  // namespace

std::unique_ptr<ChunkCodec> make_sums_only(std::unique_ptr<ChunkCodec> codec,
                                           std::uint32_t world_size) {
    return std::make_unique<SumsOnlyCodec>(std::move(codec), world_size);
}

}  // namespace sumwire::gpu
