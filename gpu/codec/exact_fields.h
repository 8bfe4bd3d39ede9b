// Where the pieces of a block's integers lie in its words (exact.h).
#pragma once

#include <cstdint>

#include "gpu/codec/exact.h"

namespace sumwire::gpu {

struct Piece {
    std::uint32_t word;
    unsigned shift;
    unsigned bits;  // of the integer, without carry
    bool last;      // bears the sign
};

class FieldCursor {
  public:
    explicit FieldCursor(unsigned carry) : carry_(carry) {}

    // Calls f(Piece) for each piece of the next integer of `bits`, sign included, lowest first.
    template <typename F>
    void place(unsigned bits, F&& f) {
        while (bits + carry_ > 32 - used_) {
            const unsigned space = 32 - used_;
            if (space >= carry_ + min_piece_bits) {
                f(Piece{word_, used_, space - carry_, false});
                bits -= space - carry_;
            }
            next_word();
        }
        f(Piece{word_, used_, bits, true});
        used_ += bits + carry_;
        if (used_ == 32) next_word();
    }

    void skip(unsigned bits) {
        place(bits, [](const Piece&) {});
    }

    // Words begun so far.
    std::uint32_t words() const { return word_ + (used_ != 0 ? 1 : 0); }

  private:
    void next_word() {
        ++word_;
        used_ = 0;
    }

    unsigned carry_;
    std::uint32_t word_ = 0;
    unsigned used_ = 0;
};

constexpr std::uint32_t low_bits(std::uint32_t word, unsigned bits) {
    return word & static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
}

// `bits` from 1 to 32.
constexpr std::int32_t sign_extend(std::uint32_t word, unsigned bits) {
    return static_cast<std::int32_t>(word << (32 - bits)) >> (32 - bits);
}

}  // namespace sumwire::gpu
