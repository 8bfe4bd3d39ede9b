#include "apps/bench/synthetic.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>

namespace sumwire::apps {
namespace {

constexpr std::size_t row_elements = 64;
constexpr std::size_t shortest_run = 64;
constexpr std::size_t longest_run = 512;

using Generator = std::mt19937_64;

Generator make_generator(std::uint64_t seed, std::uint64_t stream) {
    std::seed_seq sequence{static_cast<std::uint32_t>(seed),
                           static_cast<std::uint32_t>(seed >> 32U),
                           static_cast<std::uint32_t>(stream)};
    return Generator(sequence);
}

class ValueSource {
  public:
    explicit ValueSource(Generator& generator) : generator_(generator) {}

    void fill(std::span<float> values) {
        for (auto& value : values)
            value = next();
    }

  private:
    float next() {
        const auto value =
            static_cast<float>(normal_(generator_) * 0.01 * std::exp2(3.0 * normal_(generator_)));
        return value != 0.0F ? value : 0.01F;
    }

    Generator& generator_;
    std::normal_distribution<double> normal_;
};

void fill_uniform(std::span<float> values, double density, Generator& generator) {
    ValueSource source(generator);
    std::bernoulli_distribution present(density);
    for (auto& value : values)
        if (present(generator)) source.fill({&value, 1});
}

void fill_runs(std::span<float> values, double density, Generator& generator) {
    ValueSource source(generator);
    std::uniform_int_distribution<std::size_t> run(shortest_run, longest_run);
    const double mean_run = 0.5 * static_cast<double>(shortest_run + longest_run);
    std::exponential_distribution<double> gap(density / ((1.0 - density) * mean_run));
    std::size_t position = 0;
    while (position < values.size()) {
        if (density < 1.0)
            position += static_cast<std::size_t>(
                std::min(gap(generator), static_cast<double>(values.size())));
        if (position >= values.size()) break;
        const auto length = std::min(run(generator), values.size() - position);
        source.fill(values.subspan(position, length));
        position += length;
    }
}

void fill_rows(std::span<float> values, double density, Generator& generator, Generator& shared) {
    ValueSource source(generator);
    std::bernoulli_distribution present(density);
    std::bernoulli_distribution common(0.5);
    for (std::size_t first = 0; first < values.size(); first += row_elements) {
        const bool is_common = common(shared);
        const bool present_everywhere = present(shared);
        const bool present_here = present(generator);
        if (is_common ? present_everywhere : present_here)
            source.fill(values.subspan(first, std::min(row_elements, values.size() - first)));
    }
}

}  // namespace

Shape parse_shape(std::string_view text) {
    for (const auto shape : {Shape::uniform, Shape::runs, Shape::rows})
        if (text == to_string(shape)) return shape;
    throw std::invalid_argument(
        fmt::format("shape '{}' is unknown; use uniform, runs or rows", text));
}

std::string_view to_string(Shape shape) {
    switch (shape) {
        case Shape::uniform:
            return "uniform";
        case Shape::runs:
            return "runs";
        case Shape::rows:
            return "rows";
    }
    return "";
}

std::vector<float> make_gradient(const SyntheticSpec& spec, unsigned rank) {
    std::vector<float> values(spec.elements);
    auto shared = make_generator(spec.seed, 0);
    auto own = make_generator(spec.seed, rank + 1);
    switch (spec.shape) {
        case Shape::uniform:
            fill_uniform(values, spec.density, own);
            break;
        case Shape::runs:
            fill_runs(values, spec.density, own);
            break;
        case Shape::rows:
            fill_rows(values, spec.density, own, shared);
            break;
    }
    return values;
}

}  // namespace sumwire::apps
