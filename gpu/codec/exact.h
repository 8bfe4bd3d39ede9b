// Exact sums: fixed-point integers as wide as a block's exponents ask for, added as digits.
//
// A block is 32 elements, one word of the index. Two bytes tell its range, combined by maximum:
//
//   byte 0  the largest biased exponent of its finite values; 255 if it has a NaN or an infinity
//   byte 1  255 - min(low, 255), where low is the least `scale + trailing zeros of the significand`
//           of its finite non-zero values: the place of the lowest bit that is set in any of them.
//           Without such values 0.
//
// Both are 0 just where no rank has anything: a block of subnormals has byte 1 >= 232.
//
// Every finite value of the block is then a multiple of 2^(low - 150), and below 2^bits in that
// unit, bits = max(largest exponent, 1) + 24 - low, 1 to 277. 2^bits is added to that integer, so
// that it is never negative and has bits + 1 bits. It is cut into digits, lowest first: as many of
// 32 bits as fit, then at most one each of 16, 8 and 4 bits. Of a digit's bits the upper
// carry_bits(world size) are left free, so that the digits of all ranks add up in their place,
// modulo 2^32, without a carry into their neighbours. Which digits: those that hold bits + 1 bits
// and take the fewest bits in all; of equals, those with the fewest digits of 32 bits.
//
// A block's union elements follow one another, digit by digit from a fresh word each: all elements'
// lowest digits, then all their next ones. Digits of 32, 16 and 8 bits are arrays of little-endian
// integers; of 4-bit digits byte i has that of element i in its lower half and that of element
// 16 + i in its upper half. What fills an array up to whole words is undefined but the same on
// every rank.
//
// A block with a NaN or an infinity counts with the exponent 254, and has one word more for each
// union element after its digits: the number of ranks with +infinity in the lower half, with
// -infinity in the upper half; a NaN counts as both. So the result is NaN if both are there, else
// the infinity, else the finite sum: what a float sum would have given.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gpu/codec/bitmap.h"
#include "gpu/codec/rounding.h"

namespace sumwire::gpu {

inline constexpr unsigned max_field_bits = 277;
inline constexpr std::size_t range_bytes = 2;

// Smallest c with world_size <= 2^c.
unsigned carry_bits(std::uint32_t world_size);

struct BlockRange {
    std::uint8_t largest = 0;
    std::uint8_t lowest = 0;

    bool empty() const { return largest == 0 && lowest == 0; }
};

// How a block's integers look.
struct BlockShape {
    std::uint16_t low = 0;   // the unit is 2^(low - 150)
    std::uint16_t bits = 0;  // of the magnitude; 0 for an empty block
    bool flagged = false;
};

// Nothing if no values have this range.
std::optional<BlockShape> shape_of(BlockRange range);

// `elements`: the block's non-zeros among its values.
BlockRange range_of(const float* block, std::uint32_t elements);

// The digits of one width of integer.
struct Digits {
    // 32 - carry bits each in the lowest ones; 278 bits at 1024 ranks.
    static constexpr unsigned max_words = 13;
    static constexpr unsigned max_digits = max_words + 3;

    struct Digit {
        std::uint16_t offset;  // of its lowest bit in the integer
        std::uint8_t width;    // 32, 16, 8 or 4
    };
    std::array<Digit, max_digits> digits{};
    unsigned count = 0;

    // For the elements of one block.
    std::uint32_t words(std::uint32_t elements) const;
};

constexpr std::uint32_t digit_words(unsigned width, std::uint32_t elements) {
    const std::uint32_t bytes = width == 4 ? (elements < 16 ? elements : 16) : elements * width / 8;
    return (bytes + 3) / 4;
}

// Digits by the number of bits, for one world size.
class ExactLayout {
  public:
    explicit ExactLayout(std::uint32_t world_size);

    std::uint32_t world_size() const { return world_size_; }
    unsigned carry() const { return carry_; }
    const Digits& digits(const BlockShape& shape) const { return digits_[shape.bits]; }
    std::uint32_t words(const BlockShape& shape, std::uint32_t elements) const {
        return words_[shape.bits * (block_elements + 1) + elements] +
               (shape.flagged ? elements : 0);
    }

  private:
    std::uint32_t world_size_;
    unsigned carry_;
    std::vector<Digits> digits_;
    std::vector<std::uint16_t> words_;
};

// Encoders write up to this many words beyond those of the blocks.
inline constexpr std::size_t exact_slack_words = block_elements;

// Writes the digits of each block's union elements, block by block; empty blocks have none. The
// shapes must be those of the union. words.size(): the sum of layout.words(); exact_slack_words
// more can be written.
void encode_exact(std::span<const float> values, std::span<const std::uint32_t> index,
                  std::span<const BlockShape> shapes, const ExactLayout& layout,
                  std::span<std::uint32_t> words);

// Rounds the sums in `words`, divided by `divisor`, to as many floats as there are elements. False
// if no values sum up to these words. Reads, and writes results, up to block_elements beyond the
// last.
bool decode_exact(std::span<const std::uint32_t> words, std::span<const std::uint32_t> index,
                  std::span<const BlockShape> shapes, const ExactLayout& layout,
                  std::uint32_t divisor, Rounding rounding, std::span<float> results);

}  // namespace sumwire::gpu
