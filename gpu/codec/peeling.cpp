#include "gpu/codec/peeling.h"

#include <algorithm>

#include "gpu/codec/carve.h"

namespace sumwire::gpu {

Peeling::Peeling(Device& device, std::uint32_t units, std::uint32_t rows) : device_(device) {
    reserve(units, rows);
}

void Peeling::reserve(std::uint32_t units, std::uint32_t rows) {
    if (units <= unit_capacity_ && rows <= row_capacity_) return;
    unit_capacity_ = std::max(units, unit_capacity_);
    row_capacity_ = std::max(rows, row_capacity_);
    memory_ = {};
    memory_ = device_.allocate(carved_bytes<RowState>(row_capacity_) +
                               carved_bytes<UnitRows>(unit_capacity_) +
                               carved_bytes<std::uint16_t>(row_capacity_ + 1) +
                               carved_bytes<std::uint8_t>(unit_capacity_));
}

void Peeling::begin(const PeelingProblem& problem) {
    problem_ = problem;
    const std::uint32_t rows = problem.shape.rows();
    left_ = problem.units();
    reserve(left_, rows);
    std::span<std::byte> memory = memory_.bytes();
    states_ = carve<RowState>(memory, rows);
    rows_ = carve<UnitRows>(memory, left_);
    queue_ = carve<std::uint16_t>(memory, rows + 1);
    solved_ = carve<std::uint8_t>(memory, left_);

    find_rows(problem.shape, problem.keys, rows_);
    std::ranges::fill(states_, RowState{});
    std::ranges::fill(solved_, 0);
    for (std::uint32_t unit = 0; unit < left_; ++unit) {
        for (const std::uint16_t row : rows_[unit])
            states_[row].insert(unit);
    }
    queued_ = 0;
    peeled_ = 0;
    for (std::uint32_t row = 0; row < rows; ++row) {
        queue_[queued_] = static_cast<std::uint16_t>(row);
        queued_ += states_[row].degree() == 1 ? 1 : 0;
    }
}

std::uint32_t Peeling::peel() {
    switch (problem_.shape.unit_size) {
        case 32:
            peel_rows<32>();
            break;
        case 8:
            peel_rows<8>();
            break;
        default:
            peel_rows<1>();
            break;
    }
    return left_;
}

// What a step touches, as locals: bytes that are written may otherwise be members.
template <std::uint32_t size>
struct Peeling::Front {
    explicit Front(const Peeling& peeling)
        : sketch(peeling.problem_.sketch.data()),
          solutions(peeling.problem_.solutions.data()),
          rows(peeling.rows_.data()),
          states(peeling.states_.data()),
          solved(peeling.solved_.data()),
          queue(peeling.queue_.data()),
          queued(peeling.queued_) {}

    void solve(std::uint32_t unit, const std::uint32_t* words) {
        std::copy_n(words, size, solutions + std::size_t{unit} * size);
        solved[unit] = 1;
        for (const std::uint16_t row : rows[unit]) {
            std::uint32_t* const sums = sketch + std::size_t{row} * size;
            for (std::uint32_t i = 0; i < size; ++i)
                sums[i] -= words[i];
            states[row].erase(unit);
            // Without a branch, which would be mispredicted.
            queue[queued] = row;
            queued += states[row].degree() == 1 ? 1 : 0;
        }
    }

    std::uint32_t* const sketch;
    std::uint32_t* const solutions;
    const UnitRows* const rows;
    RowState* const states;
    std::uint8_t* const solved;
    std::uint16_t* const queue;
    std::uint32_t queued;
};

// First in, first out: neighbours in the queue seldom share rows, so the processor overlaps them.
template <std::uint32_t size>
void Peeling::peel_rows() {
    Front<size> front(*this);
    std::uint32_t peeled = peeled_;
    std::uint32_t left = left_;
    for (; peeled != front.queued; ++peeled) {
        const std::uint32_t row = front.queue[peeled];
        if (front.states[row].degree() != 1) continue;
        std::uint32_t words[size];
        std::copy_n(front.sketch + std::size_t{row} * size, size, words);
        front.solve(front.states[row].unit(), words);
        --left;
    }
    peeled_ = peeled;
    queued_ = front.queued;
    left_ = left;
}

void Peeling::supply(std::uint32_t unit, std::span<const std::uint32_t> words) {
    switch (problem_.shape.unit_size) {
        case 32:
            return supply_unit<32>(unit, words.data());
        case 8:
            return supply_unit<8>(unit, words.data());
        default:
            return supply_unit<1>(unit, words.data());
    }
}

template <std::uint32_t size>
void Peeling::supply_unit(std::uint32_t unit, const std::uint32_t* words) {
    Front<size> front(*this);
    front.solve(unit, words);
    queued_ = front.queued;
    --left_;
}

bool Peeling::consistent() const {
    std::uint32_t rest = 0;
    for (const std::uint32_t word : problem_.sketch)
        rest |= word;
    return rest == 0;
}

}  // namespace sumwire::gpu
