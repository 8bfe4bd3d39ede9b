// How the values of a chunk travel in one arithmetic: as 32-bit words, one or more for each element
// of an index, after a header on which the ranks agree first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "gpu/codec/bitmap.h"
#include "gpu/codec/chunk_codec.h"
#include "gpu/codec/rounding.h"

namespace sumwire::gpu {

// Which blocks are occupied: a bit each (block_index.h).
using BlockSet = std::span<const std::uint32_t>;

class ValueCoder {
  public:
    enum class Header : std::uint8_t {
        usable,
        not_finite,  // the whole chunk becomes NaN
        inconsistent
    };

    // Words of memory that encode may write beyond words(index), and floats that decode may read
    // and write beyond the last result.
    static constexpr std::size_t slack = block_elements;

    virtual ~ValueCoder() = default;

    // What a first look at the values tells, for the header; fills their index. Whether a -0.0 was
    // taken for zero.
    virtual bool scan(std::span<const float> values, std::span<std::uint32_t> index) = 0;

    // The header, combined by maximum. A multiple of 4 bytes; 0: there is none.
    virtual std::size_t header_bytes(std::uint32_t occupied_blocks) const = 0;
    // Whether the header cannot be written before the occupied blocks of all ranks are known.
    virtual bool header_is_by_block() const = 0;
    virtual void write_header(BlockSet occupied, std::span<std::byte> header) const = 0;
    virtual Header read_header(BlockSet occupied, std::span<const std::byte> header) = 0;

    // The index of what a dense chunk carries. After read_header.
    virtual void dense_index(std::uint32_t count, std::span<std::uint32_t> index) const = 0;

    // Words for the elements of the index; no_words if it contradicts the header.
    virtual std::size_t words(std::span<const std::uint32_t> index) const = 0;
    static constexpr std::size_t no_words = SIZE_MAX;

    virtual Combine combine() const = 0;

    // Encodes the elements of the index into words(index) words.
    virtual void encode(std::span<const float> values, std::span<const std::uint32_t> index,
                        std::span<std::uint32_t> words) const = 0;
    // One result for each element of the index, in `results` or in `words`; null if no values
    // combine to these words.
    virtual const float* decode(std::span<std::uint32_t> words,
                                std::span<const std::uint32_t> index, Reduction reduction,
                                Rounding rounding, std::span<float> results) const = 0;

  protected:
    ValueCoder() = default;
    ValueCoder(const ValueCoder&) = default;
    ValueCoder& operator=(const ValueCoder&) = default;
};

std::unique_ptr<ValueCoder> make_exact_coder(std::uint32_t world_size);
std::unique_ptr<ValueCoder> make_fixed32_coder(std::uint32_t world_size);
// Words as they are: floats, or int32 bit by bit.
std::unique_ptr<ValueCoder> make_float_coder(std::uint32_t world_size);
std::unique_ptr<ValueCoder> make_integer_coder(std::uint32_t world_size);

}  // namespace sumwire::gpu
