// How the values of a chunk travel in one arithmetic: as 32-bit words, one or more for each element
// of an index, after a header on which the ranks agree first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "gpu/codec/bitmap.h"
#include "gpu/codec/chunk_codec.h"

namespace sumwire::gpu {

class ValueCoder {
  public:
    enum class Header : std::uint8_t {
        usable,
        not_finite,  // the whole chunk becomes NaN
        inconsistent
    };

    virtual ~ValueCoder() = default;

    virtual MinusZero minus_zero() const = 0;

    // The header, combined by maximum. A multiple of 4 bytes; 0: there is none.
    virtual std::size_t header_bytes(std::uint32_t count) const = 0;
    virtual void write_header(std::span<const float> values, std::span<const std::uint32_t> index,
                              std::span<std::byte> header) const = 0;
    virtual Header read_header(std::span<const std::byte> header, std::uint32_t count) = 0;

    // The index of what a dense chunk carries. After read_header.
    virtual void dense_index(std::uint32_t count, std::span<std::uint32_t> index) const = 0;

    // Words for the elements of the index; no_words if it contradicts the header.
    virtual std::size_t words(std::span<const std::uint32_t> index) const = 0;
    static constexpr std::size_t no_words = SIZE_MAX;

    virtual Combine combine() const = 0;

    // Encodes the elements of the index into words(index) words. False if the values contradict the
    // header.
    virtual bool encode(std::span<const float> values, std::span<const std::uint32_t> index,
                        std::span<std::uint32_t> words) const = 0;
    // Decodes the combined words to one result for each element of the index. False if no values
    // combine to these words.
    virtual bool decode(std::span<const std::uint32_t> words, std::span<const std::uint32_t> index,
                        Reduction reduction, std::span<float> results) const = 0;

  protected:
    ValueCoder() = default;
    ValueCoder(const ValueCoder&) = default;
    ValueCoder& operator=(const ValueCoder&) = default;
};

std::unique_ptr<ValueCoder> make_exact_coder(std::uint32_t world_size);
std::unique_ptr<ValueCoder> make_fixed32_coder(std::uint32_t world_size);
std::unique_ptr<ValueCoder> make_float_coder(std::uint32_t world_size);

}  // namespace sumwire::gpu
