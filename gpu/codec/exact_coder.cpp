#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "gpu/codec/block_index.h"
#include "gpu/codec/exact.h"
#include "gpu/codec/scan.h"
#include "gpu/codec/value_coder.h"

namespace sumwire::gpu {

namespace {

static_assert(sizeof(BlockRange) == range_bytes);
static_assert(exact_slack_words <= ValueCoder::slack);

class ExactCoder final : public ValueCoder {
  public:
    explicit ExactCoder(std::uint32_t world_size)
        : layout_(world_size),
          ranges_(blocks_of(chunk_elements)),
          shapes_(blocks_of(chunk_elements)) {}

    bool scan(std::span<const float> values, std::span<std::uint32_t> index) override {
        return scan_values(values, index, std::span(ranges_).first(index.size())).minus_zeros;
    }

    std::size_t header_bytes(std::uint32_t occupied_blocks) const override {
        return (occupied_blocks * range_bytes + 3) / 4 * 4;
    }
    bool header_is_by_block() const override { return true; }

    void write_header(BlockSet occupied, std::span<std::byte> header) const override {
        if (header.empty()) return;
        std::ranges::fill(header.last(4), std::byte{0});
        std::byte* to = header.data();
        for_each_block(occupied, [&](std::uint32_t b) {
            std::memcpy(to, &ranges_[b], range_bytes);
            to += range_bytes;
        });
    }

    Header read_header(BlockSet occupied, std::span<const std::byte> header) override {
        std::ranges::fill(shapes_, BlockShape{});
        const std::byte* from = header.data();
        bool good = true;
        for_each_block(occupied, [&](std::uint32_t b) {
            BlockRange range;
            std::memcpy(&range, from, range_bytes);
            from += range_bytes;
            const auto shape = shape_of(range);
            good &= shape && range.largest >= ranges_[b].largest &&
                    range.lowest >= ranges_[b].lowest;
            if (shape) shapes_[b] = *shape;
        });
        return good ? Header::usable : Header::inconsistent;
    }

    void dense_index(std::uint32_t count, std::span<std::uint32_t> index) const override {
        index_all(count, index);
        for (std::size_t b = 0; b < index.size(); ++b) {
            if (shapes_[b].bits == 0) index[b] = 0;
        }
    }

    std::size_t words(std::span<const std::uint32_t> index) const override {
        std::size_t sum = 0;
        bool contradiction = false;
        for (std::size_t b = 0; b < index.size(); ++b) {
            contradiction |= (index[b] == 0) != (shapes_[b].bits == 0);
            sum += layout_.words(shapes_[b], static_cast<std::uint32_t>(std::popcount(index[b])));
        }
        return contradiction ? no_words : sum;
    }

    Combine combine() const override { return Combine::add_i32; }

    void encode(std::span<const float> values, std::span<const std::uint32_t> index,
                std::span<std::uint32_t> words) const override {
        encode_exact(values, index, shapes_, layout_, words);
    }

    const float* decode(std::span<std::uint32_t> words, std::span<const std::uint32_t> index,
                        Reduction reduction, Rounding rounding,
                        std::span<float> results) const override {
        const std::uint32_t divisor = reduction == Reduction::average ? layout_.world_size() : 1;
        const bool good =
            decode_exact(words, index, shapes_, layout_, divisor, rounding, results);
        return good ? results.data() : nullptr;
    }

  private:
    ExactLayout layout_;
    std::vector<BlockRange> ranges_;  // of this rank
    std::vector<BlockShape> shapes_;  // of all ranks together
};

}  // namespace

std::unique_ptr<ValueCoder> make_exact_coder(std::uint32_t world_size) {
    return std::make_unique<ExactCoder>(world_size);
}

}  // namespace sumwire::gpu
