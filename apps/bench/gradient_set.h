// What a benchmark sums: the gradients of all workers of one training step.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/bench/synthetic.h"

namespace sumwire::apps {

struct GradientSet {
    std::string model;                      // "ncf"; "synthetic"
    std::string step;                       // "step040"; for synthetic ones shape and density
    std::vector<std::vector<float>> ranks;  // of one length

    std::string name() const { return model + "/" + step; }
    std::size_t elements() const { return ranks.front().size(); }
    std::size_t dense_bytes() const { return elements() * sizeof(float); }
};

GradientSet make_synthetic_set(const SyntheticSpec& spec, unsigned workers);

// Sets are large: each is loaded when its turn comes.
using GradientSource = std::function<GradientSet()>;

// One source for each step of each directory: its first `workers` ranks, all of them if empty.
// Throws InputError, and std::invalid_argument if a step has fewer ranks.
std::vector<GradientSource> find_gradient_sources(
    const std::vector<std::filesystem::path>& directories, std::optional<unsigned> workers);

// The least that can carry the union: the entropy of its positions, and its elements as they are.
double bound_bytes(std::size_t elements, std::size_t union_elements, std::size_t element_bytes);

}  // namespace sumwire::apps
