#include <algorithm>

#include "gpu/codec/fixed32.h"
#include "gpu/codec/float_bits.h"
#include "gpu/codec/value_coder.h"

namespace sumwire::gpu {

namespace {

class Fixed32Coder final : public ValueCoder {
  public:
    explicit Fixed32Coder(std::uint32_t world_size) { scale_.world_size = world_size; }

    MinusZero minus_zero() const override { return MinusZero::is_zero; }

    std::size_t header_bytes(std::uint32_t) const override { return sizeof(std::uint32_t); }

    void write_header(std::span<const float> values, std::span<const std::uint32_t>,
                      std::span<std::byte> header) const override {
        std::ranges::fill(header, std::byte{0});
        header[0] = std::byte{fixed32_code(values)};
    }

    Header read_header(std::span<const std::byte> header, std::uint32_t) override {
        scale_.code = std::to_integer<std::uint8_t>(header[0]);
        return scale_.code == fixed32_not_finite ? Header::not_finite : Header::usable;
    }

    void dense_index(std::uint32_t count, std::span<std::uint32_t> index) const override {
        index_all(count, index);
    }

    std::size_t words(std::span<const std::uint32_t> index) const override {
        return population(index);
    }

    Combine combine() const override { return Combine::add_i32; }

    bool encode(std::span<const float> values, std::span<const std::uint32_t> index,
                std::span<std::uint32_t> words) const override {
        bool good = true;
        for (std::size_t b = 0; b < index.size(); ++b) {
            float packed[block_elements];
            const auto n = static_cast<std::size_t>(std::popcount(index[b]));
            gather(values.subspan(b * block_elements), index.subspan(b, 1), {packed, n});
            good &= encode_fixed32({packed, n}, scale_, words.first(n));
            words = words.subspan(n);
        }
        return good;
    }

    bool decode(std::span<const std::uint32_t> words, std::span<const std::uint32_t>,
                Reduction reduction, std::span<float> results) const override {
        const std::uint32_t divisor = reduction == Reduction::average ? scale_.world_size : 1;
        return decode_fixed32(words, scale_, divisor, results);
    }

  private:
    Fixed32Scale scale_;
};

}  // namespace

std::unique_ptr<ValueCoder> make_fixed32_coder(std::uint32_t world_size) {
    return std::make_unique<Fixed32Coder>(world_size);
}

}  // namespace sumwire::gpu
