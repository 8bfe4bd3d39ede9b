// Gradients made up with a seed: any rank's can be made anywhere, alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sumwire::apps {

// Where the non-zeros of a rank lie.
enum class Shape : std::uint8_t {
    uniform,  // each element by itself
    runs,     // runs of 64 to 512 elements anywhere, like biases and slices
    rows      // aligned rows of 64 elements, half of them common to all ranks, like embeddings
};

// Reads "uniform", "runs", "rows"; throws std::invalid_argument naming them.
Shape parse_shape(std::string_view text);
std::string_view to_string(Shape shape);

struct SyntheticSpec {
    std::size_t elements = 0;
    double density = 1.0;  // expected share of non-zeros of one rank, above 0, at most 1
    Shape shape = Shape::uniform;
    std::uint64_t seed = 1;
};

// Non-zeros are normally distributed with a magnitude that itself spreads over several powers of
// two, as in real gradients.
std::vector<float> make_gradient(const SyntheticSpec& spec, unsigned rank);

}  // namespace sumwire::apps
