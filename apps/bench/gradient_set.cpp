#include "apps/bench/gradient_set.h"

#include <fmt/core.h>

#include <cmath>
#include <stdexcept>

#include "apps/support/gradient_files.h"

namespace sumwire::apps {

GradientSet make_synthetic_set(const SyntheticSpec& spec, unsigned workers) {
    GradientSet set{.model = "synthetic",
                    .step = fmt::format("{}-{}", to_string(spec.shape), spec.density),
                    .ranks = {}};
    for (unsigned rank = 0; rank < workers; ++rank)
        set.ranks.push_back(make_gradient(spec, rank));
    return set;
}

std::vector<GradientSource> find_gradient_sources(
    const std::vector<std::filesystem::path>& directories, std::optional<unsigned> workers) {
    std::vector<GradientSource> sources;
    for (const auto& directory : directories) {
        for (auto& files : find_steps(directory)) {
            if (workers.value_or(0) > files.ranks.size())
                throw std::invalid_argument(fmt::format(
                    "--workers {}: {} of {} has gradients of {} workers; leave the option "
                    "out to use all of them",
                    *workers, files.step, directory.string(), files.ranks.size()));
            if (workers) files.ranks.resize(*workers);
            sources.emplace_back([files] {
                return GradientSet{
                    .model = files.model, .step = files.step, .ranks = read_gradients(files)};
            });
        }
    }
    return sources;
}

double bound_bytes(std::size_t elements, std::size_t union_elements, std::size_t element_bytes) {
    const auto total = static_cast<double>(elements);
    const auto present = static_cast<double>(union_elements);
    const auto bits = [total](double part) {
        return part > 0 ? part * std::log2(total / part) : 0.0;
    };
    return (bits(present) + bits(total - present)) / 8.0 +
           present * static_cast<double>(element_bytes);
}

}  // namespace sumwire::apps
