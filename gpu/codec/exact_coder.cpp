#include <algorithm>
#include <bit>
#include <vector>

#include "gpu/codec/exact.h"
#include "gpu/codec/value_coder.h"

namespace sumwire::gpu {

namespace {

class ExactCoder final : public ValueCoder {
  public:
    explicit ExactCoder(std::uint32_t world_size)
        : layout_(world_size), shapes_(blocks_of(chunk_elements)) {}

    MinusZero minus_zero() const override { return MinusZero::is_zero; }

    std::size_t header_bytes(std::uint32_t count) const override {
        return (blocks_of(count) * range_bytes + 3) / 4 * 4;
    }

    void write_header(std::span<const float> values, std::span<const std::uint32_t> index,
                      std::span<std::byte> header) const override {
        std::ranges::fill(header.last(4), std::byte{0});
        for (std::size_t b = 0; b < index.size(); ++b) {
            const BlockRange range = range_of(values.data() + b * block_elements, index[b]);
            header[range_bytes * b] = std::byte{range.largest};
            header[range_bytes * b + 1] = std::byte{range.lowest};
        }
    }

    Header read_header(std::span<const std::byte> header, std::uint32_t count) override {
        for (std::size_t b = 0; b < blocks_of(count); ++b) {
            const auto shape =
                shape_of({std::to_integer<std::uint8_t>(header[range_bytes * b]),
                          std::to_integer<std::uint8_t>(header[range_bytes * b + 1])});
            if (!shape) return Header::inconsistent;
            shapes_[b] = *shape;
        }
        return Header::usable;
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
            sum += block_words(index, b);
        }
        return contradiction ? no_words : sum;
    }

    Combine combine() const override { return Combine::add_i32; }

    bool encode(std::span<const float> values, std::span<const std::uint32_t> index,
                std::span<std::uint32_t> words) const override {
        bool good = true;
        for (std::size_t b = 0; b < index.size(); ++b) {
            const std::uint32_t n = block_words(index, b);
            if (n == 0) continue;
            good &= encode_block(values.data() + b * block_elements, index[b], shapes_[b], layout_,
                                 words.first(n));
            words = words.subspan(n);
        }
        return good;
    }

    bool decode(std::span<const std::uint32_t> words, std::span<const std::uint32_t> index,
                Reduction reduction, std::span<float> results) const override {
        const std::uint32_t divisor = reduction == Reduction::average ? layout_.world_size() : 1;
        bool good = true;
        for (std::size_t b = 0; b < index.size(); ++b) {
            const std::uint32_t n = block_words(index, b);
            if (n == 0) continue;
            const auto elements = static_cast<std::uint32_t>(std::popcount(index[b]));
            good &= decode_block(words.first(n), elements, shapes_[b], layout_, divisor,
                                 results.data());
            words = words.subspan(n);
            results = results.subspan(elements);
        }
        return good;
    }

  private:
    std::uint32_t block_words(std::span<const std::uint32_t> index, std::size_t block) const {
        return layout_.words(shapes_[block],
                             static_cast<std::uint32_t>(std::popcount(index[block])));
    }

    ExactLayout layout_;
    std::vector<BlockShape> shapes_;
};

}  // namespace

std::unique_ptr<ValueCoder> make_exact_coder(std::uint32_t world_size) {
    return std::make_unique<ExactCoder>(world_size);
}

}  // namespace sumwire::gpu
