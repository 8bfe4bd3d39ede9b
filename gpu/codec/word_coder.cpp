// Words as they are: floats that the network adds in rank order, integers that it adds modulo 2^32.
#include <algorithm>
#include <bit>

#include "gpu/codec/compact.h"
#include "gpu/codec/divide.h"
#include "gpu/codec/scan.h"
#include "gpu/codec/value_coder.h"

namespace sumwire::gpu {

namespace {

class WordCoder : public ValueCoder {
  public:
    bool scan(std::span<const float> values, std::span<std::uint32_t> index) override {
        scan_values(values, MinusZero::is_value, index);
        return false;
    }

    std::size_t header_bytes(std::uint32_t) const override { return 0; }
    bool header_is_by_block() const override { return false; }
    void write_header(BlockSet, std::span<std::byte>) const override {}
    Header read_header(BlockSet, std::span<const std::byte>) override { return Header::usable; }

    void dense_index(std::uint32_t count, std::span<std::uint32_t> index) const override {
        index_all(count, index);
    }

    std::size_t words(std::span<const std::uint32_t> index) const override {
        return population(index);
    }

    void encode(std::span<const float> values, std::span<const std::uint32_t> index,
                std::span<std::uint32_t> words) const override {
        gather(values, index, reinterpret_cast<float*>(words.data()));
    }
};

class FloatCoder final : public WordCoder {
  public:
    explicit FloatCoder(std::uint32_t world_size) : world_size_(world_size) {}

    Combine combine() const override { return Combine::add_f32; }

    const float* decode(std::span<std::uint32_t> words, std::span<const std::uint32_t>,
                        Reduction reduction, Rounding rounding, std::span<float>) const override {
        auto* const sums = reinterpret_cast<float*>(words.data());
        if (reduction == Reduction::average)
            divide_floats({sums, words.size()}, world_size_, rounding);
        return sums;
    }

  private:
    std::uint32_t world_size_;
};

class IntegerCoder final : public WordCoder {
  public:
    explicit IntegerCoder(std::uint32_t world_size) : world_size_(world_size) {}

    Combine combine() const override { return Combine::add_i32; }

    const float* decode(std::span<std::uint32_t> words, std::span<const std::uint32_t>,
                        Reduction reduction, Rounding, std::span<float>) const override {
        if (reduction == Reduction::average) {
            for (std::uint32_t& word : words) {
                const auto sum = std::int64_t{static_cast<std::int32_t>(word)};
                word = static_cast<std::uint32_t>(sum / world_size_);
            }
        }
        return reinterpret_cast<const float*>(words.data());
    }

  private:
    std::int64_t world_size_;
};

}  // namespace

std::unique_ptr<ValueCoder> make_float_coder(std::uint32_t world_size) {
    return std::make_unique<FloatCoder>(world_size);
}

std::unique_ptr<ValueCoder> make_integer_coder(std::uint32_t world_size) {
    return std::make_unique<IntegerCoder>(world_size);
}

}  // namespace sumwire::gpu
