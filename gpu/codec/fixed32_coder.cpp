#include <algorithm>

#include "gpu/codec/compact.h"
#include "gpu/codec/fixed32.h"
#include "gpu/codec/scan.h"
#include "gpu/codec/value_coder.h"

namespace sumwire::gpu {

namespace {

static_assert(compact_slack <= ValueCoder::slack);

class Fixed32Coder final : public ValueCoder {
  public:
    explicit Fixed32Coder(std::uint32_t world_size) { scale_.world_size = world_size; }

    bool scan(std::span<const float> values, std::span<std::uint32_t> index) override {
        const Scan seen = scan_values(values, MinusZero::is_zero, index);
        own_code_ = fixed32_code(seen.largest);
        return seen.minus_zeros;
    }

    std::size_t header_bytes(std::uint32_t) const override { return sizeof(std::uint32_t); }
    bool header_is_by_block() const override { return false; }

    void write_header(BlockSet, std::span<std::byte> header) const override {
        std::ranges::fill(header, std::byte{0});
        header[0] = std::byte{own_code_};
    }

    Header read_header(BlockSet, std::span<const std::byte> header) override {
        scale_.code = std::to_integer<std::uint8_t>(header[0]);
        if (scale_.code < own_code_) return Header::inconsistent;
        return scale_.code == fixed32_not_finite ? Header::not_finite : Header::usable;
    }

    void dense_index(std::uint32_t count, std::span<std::uint32_t> index) const override {
        index_all(count, index);
    }

    std::size_t words(std::span<const std::uint32_t> index) const override {
        return population(index);
    }

    Combine combine() const override { return Combine::add_i32; }

    void encode(std::span<const float> values, std::span<const std::uint32_t> index,
                std::span<std::uint32_t> words) const override {
        gather(values, index, reinterpret_cast<float*>(words.data()));
        encode_fixed32(words, scale_);
    }

    const float* decode(std::span<std::uint32_t> words, std::span<const std::uint32_t>,
                        Reduction reduction, Rounding rounding,
                        std::span<float> results) const override {
        const std::uint32_t divisor = reduction == Reduction::average ? scale_.world_size : 1;
        return decode_fixed32(words, scale_, divisor, rounding, results.data()) ? results.data()
                                                                                : nullptr;
    }

  private:
    Fixed32Scale scale_;
    std::uint8_t own_code_ = 0;
};

}  // namespace

std::unique_ptr<ValueCoder> make_fixed32_coder(std::uint32_t world_size) {
    return std::make_unique<Fixed32Coder>(world_size);
}

}  // namespace sumwire::gpu
