// Exact sums: fixed-point integers as wide as a block's exponents ask for, in 32-bit words.
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
// unit, bits = max(largest exponent, 1) + 24 - low, 1 to 277. Such an integer takes a sign on top
// of its bits, and the sum over all ranks takes carry_bits(world size) more.
//
// A block's union elements follow one another from a fresh word on, lowest bits first. Where an
// element meets the end of a word it is cut into pieces, each with its own carry bits, so that
// adding the words of all ranks modulo 2^32 adds every piece. All pieces but an element's last are
// unsigned; the last one bears the sign. A word is the sum of piece * 2^shift, so a negative piece
// borrows from those above it; they are read from the lowest upwards, each taken out before the
// next. No piece but the last has fewer than min_piece_bits of the integer; space below that stays
// zero.
//
// A block with a NaN or an infinity counts with the exponent 254, and has one word more for each
// union element after those of its fields: the number of ranks with +infinity in the lower half,
// with -infinity in the upper half; a NaN counts as both. So the result is NaN if both are there,
// else the infinity, else the finite sum: what a float sum would have given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gpu/codec/bitmap.h"

namespace sumwire::gpu {

inline constexpr unsigned max_field_bits = 277;
inline constexpr unsigned min_piece_bits = 2;
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
    unsigned low = 0;   // the unit is 2^(low - 150)
    unsigned bits = 0;  // of the magnitude; 0 for an empty block
    bool flagged = false;
};

// Nothing if no values have this range.
std::optional<BlockShape> shape_of(BlockRange range);

// `elements`: the block's non-zeros among its values.
BlockRange range_of(const float* block, std::uint32_t elements);

// Words of blocks by shape, for one world size.
class ExactLayout {
  public:
    explicit ExactLayout(std::uint32_t world_size);

    std::uint32_t world_size() const { return world_size_; }
    unsigned carry() const { return carry_; }
    std::uint32_t words(const BlockShape& shape, std::uint32_t elements) const {
        return field_words_[shape.bits * (block_elements + 1) + elements] +
               (shape.flagged ? elements : 0);
    }

  private:
    std::uint32_t world_size_;
    unsigned carry_;
    std::vector<std::uint16_t> field_words_;
};

// Writes the fields of the block's union elements; words.size() is layout.words(). False if a value
// is out of the shape's range.
bool encode_block(const float* block, std::uint32_t elements, const BlockShape& shape,
                  const ExactLayout& layout, std::span<std::uint32_t> words);

// Rounds the sums in `words`, divided by `divisor`, to as many floats as there are elements. False
// if no values sum up to these words.
bool decode_block(std::span<const std::uint32_t> words, std::uint32_t elements,
                  const BlockShape& shape, const ExactLayout& layout, std::uint32_t divisor,
                  float* results);

}  // namespace sumwire::gpu
