#include "gpu/codec/exact.h"

#include <algorithm>
#include <bit>

#include "gpu/codec/exact_fields.h"
#include "gpu/codec/float_bits.h"

namespace sumwire::gpu {

unsigned carry_bits(std::uint32_t world_size) {
    return static_cast<unsigned>(std::bit_width(world_size - 1));
}

std::optional<BlockShape> shape_of(BlockRange range) {
    if (range.empty()) return BlockShape{};
    const bool flagged = range.largest == non_finite_exponent;
    const int largest = flagged ? 254 : std::max<int>(range.largest, 1);
    const int low = 255 - range.lowest;
    const int bits = largest + 24 - low;
    if (low < 1 || bits < 1) return std::nullopt;
    return BlockShape{static_cast<unsigned>(low), static_cast<unsigned>(bits), flagged};
}

BlockRange range_of(const float* block, std::uint32_t elements) {
    unsigned largest = 0;
    unsigned low = 255;
    for_each_bit(elements, [&](std::uint32_t i) {
        const FloatParts parts = take_apart(block[i]);
        largest = std::max(largest, parts.exponent);
        // The additional bit is out of a finite value's reach and keeps the count defined.
        const auto zeros =
            static_cast<unsigned>(std::countr_zero(parts.significand | std::uint32_t{1} << 31));
        low = std::min(low, parts.finite() ? parts.scale() + zeros : 255);
    });
    return {static_cast<std::uint8_t>(largest), static_cast<std::uint8_t>(255 - low)};
}

ExactLayout::ExactLayout(std::uint32_t world_size)
    : world_size_(world_size),
      carry_(carry_bits(world_size)),
      field_words_((max_field_bits + 1) * (block_elements + 1)) {
    for (unsigned bits = 1; bits <= max_field_bits; ++bits) {
        FieldCursor cursor(carry_);
        for (unsigned n = 1; n <= block_elements; ++n) {
            cursor.skip(bits + 1);
            field_words_[bits * (block_elements + 1) + n] =
                static_cast<std::uint16_t>(cursor.words());
        }
    }
}

}  // namespace sumwire::gpu
