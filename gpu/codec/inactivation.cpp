#include "gpu/codec/inactivation.h"

#include <algorithm>
#include <bitset>

#include "gpu/codec/carve.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gpu/codec/inactivation.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file again.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sumwire::gpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
// Equations are multiples of eight words.
using Words = hn::CappedTag<std::uint32_t, 8>;

HWY_INLINE void subtract(std::uint32_t* from, const std::uint32_t* what, std::size_t words) {
    const Words d;
    for (std::size_t i = 0; i < words; i += hn::Lanes(d))
        hn::StoreU(hn::Sub(hn::LoadU(d, from + i), hn::LoadU(d, what + i)), d, from + i);
}

// Solves every step's unit in the equation of its row, and replaces it by that in the others.
void eliminate_steps(std::span<const InactivationStep> steps, std::span<const UnitRows> rows,
                     std::span<const std::uint16_t> equation_of, std::size_t equation_size,
                     std::uint32_t* equations) {
    for (const InactivationStep& step : steps) {
        const std::uint32_t* const solved = equations + equation_of[step.row] * equation_size;
        for (const std::uint16_t row : rows[step.unit]) {
            if (row == step.row) continue;
            subtract(equations + equation_of[row] * equation_size, solved, equation_size);
        }
    }
}

void subtract_multiple(std::span<std::uint32_t> from, std::span<const std::uint32_t> what,
                       std::uint32_t factor) {
    const Words d;
    const auto factors = hn::Set(d, factor);
    for (std::size_t i = 0; i < from.size(); i += hn::Lanes(d)) {
        const auto product = hn::Mul(factors, hn::LoadU(d, what.data() + i));
        hn::StoreU(hn::Sub(hn::LoadU(d, from.data() + i), product), d, from.data() + i);
    }
}

}  // namespace
}  // namespace sumwire::gpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sumwire::gpu {

HWY_EXPORT(eliminate_steps);
HWY_EXPORT(subtract_multiple);

namespace {

// Modulo 2^32, of an odd number. Every step doubles the number of right bits, of which an odd
// number itself has three.
constexpr std::uint32_t inverse(std::uint32_t odd) {
    std::uint32_t x = odd;
    for (int bits = 3; bits < 32; bits *= 2)
        x *= 2 - odd * x;
    return x;
}

}  // namespace

Inactivation::Inactivation(Device& device, std::uint32_t units, std::uint32_t rows)
    : device_(device) {
    reserve(units, rows);
}

void Inactivation::reserve(std::uint32_t units, std::uint32_t rows) {
    if (units <= unit_capacity_ && rows <= row_capacity_) return;
    unit_capacity_ = std::max(units, unit_capacity_);
    row_capacity_ = std::max(rows, row_capacity_);
    memory_ = {};
    memory_ = device_.allocate(
        carved_bytes<RowState>(row_capacity_) +
        carved_bytes<std::uint16_t>(std::size_t{rows_of_unit} * unit_capacity_) +
        carved_bytes<std::uint32_t>(row_capacity_ + 1) +
        carved_bytes<std::uint16_t>(row_capacity_ + 1) +
        carved_bytes<std::uint8_t>(unit_capacity_) + OrdinalSet::bytes(row_capacity_) +
        carved_bytes<InactivationStep>(unit_capacity_) +
        2 * carved_bytes<std::uint32_t>(unit_capacity_) +
        carved_bytes<std::uint16_t>(row_capacity_) + carved_bytes<std::uint8_t>(row_capacity_) +
        carved_bytes<std::uint32_t>(equation_words));
}

std::span<const std::uint32_t> Inactivation::choose(const Peeling& stalled) {
    stalled_ = &stalled;
    set_up();
    build_members();
    put_units_aside();
    if (set_up_equations()) {
        HWY_DYNAMIC_DISPATCH(eliminate_steps)
        (steps_.first(step_count_), stalled.rows(), equation_of_, equation_size_,
         equations_.data());
        find_pivots();
    }
    request_undetermined();
    return requests_;
}

void Inactivation::set_up() {
    const std::uint32_t units = stalled_->problem().units();
    const std::uint32_t rows = stalled_->problem().shape.rows();
    reserve(units, rows);
    std::span<std::byte> memory = memory_.bytes();
    states_ = carve<RowState>(memory, rows);
    members_ = carve<std::uint16_t>(memory, std::size_t{rows_of_unit} * units);
    first_ = carve<std::uint32_t>(memory, rows + 1);
    queue_ = carve<std::uint16_t>(memory, rows + 1);
    twos_ = OrdinalSet(memory, rows);
    taken_out_ = carve<std::uint8_t>(memory, units);
    steps_ = carve<InactivationStep>(memory, units);
    aside_ = carve<std::uint32_t>(memory, units);
    requests_ = carve<std::uint32_t>(memory, units);
    equation_of_ = carve<std::uint16_t>(memory, rows);
    used_ = carve<std::uint8_t>(memory, rows);
    equations_ = carve<std::uint32_t>(memory, equation_words);

    std::ranges::copy(stalled_->states(), states_.begin());
    for (std::uint32_t row = 0; row < rows; ++row)
        twos_.insert_if(states_[row].degree() == 2, row);
    for (std::uint32_t unit = 0; unit < units; ++unit)
        taken_out_[unit] = stalled_->solved(unit) ? 1 : 0;
    lowest_ = 0;
    queued_ = 0;
    step_count_ = 0;
    aside_count_ = 0;
    pivot_count_ = 0;
}

void Inactivation::build_members() {
    std::uint32_t next = 0;
    for (std::size_t row = 0; row < states_.size(); ++row) {
        next += states_[row].degree();
        first_[row] = next;
    }
    first_.back() = next;
    // Filled from the end, so that each row's entry ends at its first member.
    for (std::uint32_t unit = stalled_->problem().units(); unit-- > 0;) {
        if (stalled_->solved(unit)) continue;
        for (const std::uint16_t row : stalled_->rows()[unit])
            members_[--first_[row]] = static_cast<std::uint16_t>(unit);
    }
}

void Inactivation::put_units_aside() {
    for (std::uint32_t left = stalled_->left(); left != 0;
         left = stalled_->left() - aside_count_ - step_count_) {
        const std::uint32_t unit = next_aside();
        aside_[aside_count_++] = unit;
        take_out(unit);
        peel();
    }
}

std::uint32_t Inactivation::next_aside() {
    for (std::uint32_t row; (row = twos_.take_lowest()) != OrdinalSet::none;) {
        if (states_[row].degree() != 2) continue;
        const auto members = members_.subspan(first_[row]);
        return *std::ranges::find_if(members, [&](auto unit) { return taken_out_[unit] == 0; });
    }
    while (taken_out_[lowest_] != 0)
        ++lowest_;
    return lowest_;
}

void Inactivation::peel() {
    while (queued_ != 0) {
        const std::uint16_t row = queue_[--queued_];
        if (states_[row].degree() != 1) continue;
        const std::uint32_t unit = states_[row].unit();
        steps_[step_count_++] = {static_cast<std::uint16_t>(unit), row};
        take_out(unit);
    }
}

void Inactivation::take_out(std::uint32_t unit) {
    taken_out_[unit] = 1;
    for (const std::uint16_t row : stalled_->rows()[unit]) {
        states_[row].erase(unit);
        const std::uint32_t degree = states_[row].degree();
        // Without branches, which would be mispredicted.
        queue_[queued_] = row;
        queued_ += degree == 1 ? 1 : 0;
        twos_.insert_if(degree == 2, row);
    }
}

bool Inactivation::set_up_equations() {
    constexpr std::uint32_t vector = 8;  // so that loops have no rest
    const PeelingProblem& problem = stalled_->problem();
    const std::uint32_t unit_size = problem.shape.unit_size;
    if (aside_count_ > max_eliminated) return false;
    equation_size_ = (unit_size + aside_count_ + vector - 1) / vector * vector;

    equation_count_ = 0;
    for (std::size_t row = 0; row < states_.size(); ++row) {
        equation_of_[row] = static_cast<std::uint16_t>(equation_count_);
        equation_count_ += stalled_->states()[row].degree() != 0 ? 1 : 0;
    }
    if (std::size_t{equation_count_} * equation_size_ > equations_.size()) return false;

    for (std::uint32_t row = 0; row < states_.size(); ++row) {
        if (stalled_->states()[row].degree() == 0) continue;
        const std::span<std::uint32_t> to = equation(equation_of_[row]);
        std::ranges::copy(problem.row(row), to.begin());
        std::ranges::fill(to.subspan(unit_size), 0);
    }
    for (std::uint32_t column = 0; column < aside_count_; ++column) {
        for (const std::uint16_t row : stalled_->rows()[aside_[column]])
            coefficients(equation_of_[row])[column] = 1;
    }
    return true;
}

void Inactivation::find_pivots() {
    std::ranges::fill(used_, 0);
    for (const InactivationStep& step : steps_.first(step_count_))
        used_[equation_of_[step.row]] = 1;
    for (std::uint32_t i = 0; i < equation_count_ && pivot_count_ < aside_count_; ++i) {
        if (used_[i] == 0 && make_pivot(i)) ++pivot_count_;
    }
}

// Reduces the equation by the pivots there are. If a coefficient is odd then, makes it one, and the
// equation a pivot.
bool Inactivation::make_pivot(std::uint32_t i) {
    for (const Pivot& pivot : std::span(pivots_).first(pivot_count_)) {
        const std::uint32_t factor = coefficients(i)[pivot.column];
        if (factor == 0) continue;
        HWY_DYNAMIC_DISPATCH(subtract_multiple)(equation(i), equation(pivot.equation), factor);
    }
    const auto all = coefficients(i);
    const auto odd = std::ranges::find_if(all, [](std::uint32_t c) { return c % 2 != 0; });
    if (odd == all.end()) return false;
    const std::uint32_t factor = inverse(*odd);
    for (std::uint32_t& word : equation(i))
        word *= factor;
    pivots_[pivot_count_] = {i, static_cast<std::uint32_t>(odd - all.begin())};
    return true;
}

void Inactivation::request_undetermined() {
    std::bitset<max_eliminated> determined;
    for (const Pivot& pivot : std::span(pivots_).first(pivot_count_))
        determined.set(pivot.column);
    std::size_t n = 0;
    for (std::uint32_t column = 0; column < aside_count_; ++column) {
        const bool known = column < max_eliminated && determined.test(column);
        if (!known) requests_[n++] = aside_[column];
    }
    requests_ = requests_.first(n);
    std::ranges::sort(requests_);
}

void Inactivation::complete(Peeling& stalled, std::span<const std::uint32_t> words) {
    const std::uint32_t unit_size = stalled.problem().shape.unit_size;
    for (const std::uint32_t unit : requests_) {
        stalled.supply(unit, words.first(unit_size));
        words = words.subspan(unit_size);
    }
    // From the last, whose equation has no other pivot's unit.
    while (pivot_count_ != 0) {
        const Pivot pivot = pivots_[--pivot_count_];
        const std::span<std::uint32_t> sums = equation(pivot.equation).first(unit_size);
        for (std::uint32_t column = 0; column < aside_count_; ++column) {
            const std::uint32_t factor = coefficients(pivot.equation)[column];
            if (factor == 0 || column == pivot.column) continue;
            const auto known = stalled.problem().solutions.subspan(
                std::size_t{aside_[column]} * unit_size, unit_size);
            for (std::uint32_t i = 0; i < unit_size; ++i)
                sums[i] -= factor * known[i];
        }
        stalled.supply(aside_[pivot.column], sums);
    }
}

}  // namespace sumwire::gpu
#endif
