// Inactivation: how a stalled peeling goes on.
//
// While units are unsolved: put one aside, take it as solved, and peel as far as that goes. Put
// aside the lowest unsolved unit of the lowest row of degree two; if there is no such row, the
// lowest unsolved unit. (The unit with most rows of degree two, searched everywhere, would save one
// in eight, and cost four times as much to find.)
//
// All other units' words are then known but for multiples of the words put aside, and every row
// that was not used for a unit is an equation of these alone. As a rule they have one solution
// modulo 2^32, found by Gaussian elimination; a unit that they leave undetermined must be
// requested.
//
// Which units are put aside and which requested depends on the keys only, so all ranks agree.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/codec/ordinal_set.h"
#include "gpu/codec/peeling.h"
#include "gpu/device.h"

namespace sumwire::gpu {

// A unit that a row determines once those of earlier steps and those put aside are known.
struct InactivationStep {
    std::uint16_t unit;
    std::uint16_t row;
};

class Inactivation {
  public:
    // Elimination is for few units: if more than this many are put aside, or the equations need
    // more than `equation_words`, all of those put aside are requested.
    static constexpr std::uint32_t max_eliminated = 128;
    static constexpr std::uint32_t equation_words = 1u << 17;

    // Allocates for this size, and later only for a larger problem.
    Inactivation(Device& device, std::uint32_t units, std::uint32_t rows);

    // The units to request, ascending; valid until the next call.
    std::span<const std::uint32_t> choose(const Peeling& stalled);

    // With the requested units' words, as many as units requested times the unit's size: supplies
    // all that were put aside, so that nothing stops the peeling.
    void complete(Peeling& stalled, std::span<const std::uint32_t> words);

    // In that order; valid until the next call.
    std::span<const std::uint32_t> put_aside() const { return aside_.first(aside_count_); }

  private:
    // Which of the units put aside an equation determines from those of later pivots.
    struct Pivot {
        std::uint32_t equation;
        std::uint32_t column;
    };

    void reserve(std::uint32_t units, std::uint32_t rows);
    void set_up();
    void build_members();
    void put_units_aside();
    std::uint32_t next_aside();
    void take_out(std::uint32_t unit);
    void peel();

    bool set_up_equations();
    void find_pivots();
    bool make_pivot(std::uint32_t equation);
    void request_undetermined();

    std::span<std::uint32_t> equation(std::uint32_t i) {
        return equations_.subspan(std::size_t{i} * equation_size_, equation_size_);
    }
    std::span<std::uint32_t> coefficients(std::uint32_t i) {
        return equation(i).subspan(stalled_->problem().shape.unit_size, aside_count_);
    }

    Device& device_;
    DeviceBuffer memory_;
    std::uint32_t unit_capacity_ = 0;
    std::uint32_t row_capacity_ = 0;

    const Peeling* stalled_ = nullptr;
    std::span<RowState> states_;
    std::span<std::uint16_t> members_;  // unsolved units, row by row
    std::span<std::uint32_t> first_;    // where a row's members begin
    std::span<std::uint16_t> queue_;
    std::uint32_t queued_ = 0;
    OrdinalSet twos_;  // rows that came to degree two, most of them since to less
    std::span<std::uint8_t> taken_out_;
    std::uint32_t lowest_ = 0;  // all units below are taken out
    std::span<InactivationStep> steps_;
    std::uint32_t step_count_ = 0;
    std::span<std::uint32_t> aside_;
    std::uint32_t aside_count_ = 0;

    // An equation: the words of a row, then the coefficients of the units put aside. The row's
    // words are the sum of its unsolved units and of the multiples.
    std::span<std::uint32_t> equations_;
    std::span<std::uint16_t> equation_of_;  // by row, of those with unsolved units
    std::span<std::uint8_t> used_;          // by equation: for a step
    std::uint32_t equation_size_ = 0;
    std::uint32_t equation_count_ = 0;
    std::array<Pivot, max_eliminated> pivots_;
    std::uint32_t pivot_count_ = 0;

    std::span<std::uint32_t> requests_;
};

}  // namespace sumwire::gpu
