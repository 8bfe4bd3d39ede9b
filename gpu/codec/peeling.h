// Peeling: a row of degree one, that is with one unsolved unit, holds that unit's words; subtracted
// from the unit's other rows they lower their degrees, and so on.
//
// Which rows hold which units follows from the keys alone, so where it stalls depends on them
// alone, and the order of steps changes nothing.
#pragma once

#include <cstdint>
#include <span>

#include "gpu/codec/count_sketch.h"
#include "gpu/device.h"

namespace sumwire::gpu {

// The unsolved units of a row: their number and the sum of their ordinals, in one word so that one
// addition changes both.
class RowState {
  public:
    std::uint32_t degree() const { return static_cast<std::uint32_t>(bits_ >> sum_bits); }
    // The unit, at degree one.
    std::uint32_t unit() const { return static_cast<std::uint32_t>(bits_); }

    void insert(std::uint32_t unit) { bits_ += one | unit; }
    void erase(std::uint32_t unit) { bits_ -= one | unit; }

  private:
    // At most 65536 units, hence a sum below 2^32.
    static constexpr unsigned sum_bits = 32;
    static constexpr std::uint64_t one = std::uint64_t{1} << sum_bits;

    std::uint64_t bits_ = 0;
};

inline constexpr std::uint32_t max_units = 65536;

struct PeelingProblem {
    SketchShape shape;                    // at most max_rows
    std::span<const std::uint32_t> keys;  // of the units, all different; at most max_units
    std::span<std::uint32_t> sketch;      // combined over all ranks; consumed
    std::span<std::uint32_t> solutions;   // shape.unit_size words for each unit

    std::uint32_t units() const { return static_cast<std::uint32_t>(keys.size()); }
    std::span<std::uint32_t> row(std::size_t row) const {
        return sketch.subspan(row * shape.unit_size, shape.unit_size);
    }
};

class Peeling {
  public:
    // Allocates for this size, and later only for a larger problem.
    Peeling(Device& device, std::uint32_t units, std::uint32_t rows);

    void begin(const PeelingProblem& problem);
    // Solves what can be solved; how many units are left.
    std::uint32_t peel();
    // An unsolved unit's words, from elsewhere.
    void supply(std::uint32_t unit, std::span<const std::uint32_t> words);
    // Whether the solutions explain every row. Once none is left.
    bool consistent() const;

    const PeelingProblem& problem() const { return problem_; }
    std::span<const RowState> states() const { return states_; }
    std::span<const UnitRows> rows() const { return rows_; }
    bool solved(std::uint32_t unit) const { return solved_[unit] != 0; }
    std::uint32_t left() const { return left_; }

  private:
    void reserve(std::uint32_t units, std::uint32_t rows);
    template <std::uint32_t size>
    void peel_rows();
    template <std::uint32_t size>
    void supply_unit(std::uint32_t unit, const std::uint32_t* words);
    template <std::uint32_t size>
    struct Front;

    Device& device_;
    DeviceBuffer memory_;
    std::uint32_t unit_capacity_ = 0;
    std::uint32_t row_capacity_ = 0;

    PeelingProblem problem_;
    std::span<RowState> states_;
    std::span<UnitRows> rows_;
    std::span<std::uint16_t> queue_;  // every row that had degree one, once
    std::span<std::uint8_t> solved_;
    std::uint32_t queued_ = 0;
    std::uint32_t peeled_ = 0;  // of the queue
    std::uint32_t left_ = 0;
};

}  // namespace sumwire::gpu
