#include <algorithm>
#include <bit>

#include "gpu/codec/float_bits.h"
#include "gpu/codec/value_coder.h"

namespace sumwire::gpu {

namespace {

class FloatCoder final : public ValueCoder {
  public:
    explicit FloatCoder(std::uint32_t world_size) : world_size_(world_size) {}

    MinusZero minus_zero() const override { return MinusZero::is_value; }

    std::size_t header_bytes(std::uint32_t) const override { return 0; }
    void write_header(std::span<const float>, std::span<const std::uint32_t>,
                      std::span<std::byte>) const override {}
    Header read_header(std::span<const std::byte>, std::uint32_t) override {
        return Header::usable;
    }

    void dense_index(std::uint32_t count, std::span<std::uint32_t> index) const override {
        index_all(count, index);
    }

    std::size_t words(std::span<const std::uint32_t> index) const override {
        return population(index);
    }

    Combine combine() const override { return Combine::add_f32; }

    bool encode(std::span<const float> values, std::span<const std::uint32_t> index,
                std::span<std::uint32_t> words) const override {
        gather(values, index, {reinterpret_cast<float*>(words.data()), words.size()});
        return true;
    }

    bool decode(std::span<const std::uint32_t> words, std::span<const std::uint32_t>,
                Reduction reduction, std::span<float> results) const override {
        std::ranges::transform(words, results.begin(),
                               [](std::uint32_t word) { return std::bit_cast<float>(word); });
        if (reduction == Reduction::average) {
            for (float& result : results)
                result = divide(result, world_size_);
        }
        return true;
    }

  private:
    std::uint32_t world_size_;
};

}  // namespace

std::unique_ptr<ValueCoder> make_float_coder(std::uint32_t world_size) {
    return std::make_unique<FloatCoder>(world_size);
}

}  // namespace sumwire::gpu
