// The gradient files of one training step, one for each rank.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/support/npy.h"

namespace sumwire::apps {

struct GradientFiles {
    std::string model;  // the directory's name; "files" for a list
    std::string step;   // "step040"; empty for a list
    std::vector<std::filesystem::path> ranks;
};

// Steps that a directory holds as stepNNN-workerM.npy or .npy.zst, in order. Throws InputError if
// there is none, or if a step's workers do not count from 0 without a gap.
std::vector<GradientFiles> find_steps(const std::filesystem::path& directory);

// One step of a directory (the last one unless named), or the given files, one for each rank.
// Throws InputError.
GradientFiles find_gradients(const std::vector<std::filesystem::path>& directory_or_files,
                             std::optional<unsigned> step);

// Reads them all. Throws InputError, also if their lengths differ.
std::vector<std::vector<float>> read_gradients(const GradientFiles& files);

}  // namespace sumwire::apps
