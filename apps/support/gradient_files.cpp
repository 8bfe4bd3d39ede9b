#include "apps/support/gradient_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>

namespace sumwire::apps {
namespace {

namespace fs = std::filesystem;

using Workers = std::map<unsigned long, fs::path>;

struct Step {
    std::string name;
    Workers workers;
};

// Keyed by the step's number.
std::map<unsigned long, Step> list_steps(const fs::path& directory) {
    static const std::regex pattern(R"((step([0-9]{1,9}))-worker([0-9]{1,4})\.npy(\.zst)?)");
    std::error_code error;
    fs::directory_iterator entries(directory, error);
    if (error) {
        throw InputError(fmt::format("cannot list '{}': {}; give a readable directory",
                                     directory.string(), error.message()));
    }
    std::map<unsigned long, Step> steps;
    for (const auto& entry : entries) {
        const std::string name = entry.path().filename().string();
        std::smatch match;
        if (!std::regex_match(name, match, pattern)) continue;
        Step& step = steps[std::stoul(match[2])];
        step.name = match[1];
        const auto [other, added] = step.workers.emplace(std::stoul(match[3]), entry.path());
        if (!added) {
            throw InputError(
                fmt::format("'{}' and '{}' are the same worker of the same step; remove one, or "
                            "name one file for "
                            "each rank",
                            other->second.string(), entry.path().string()));
        }
    }
    if (steps.empty()) {
        throw InputError(
            fmt::format("'{}' holds no gradients: files named like step040-worker0.npy or "
                        "step040-worker0.npy.zst are needed; or name one file for each rank",
                        directory.string()));
    }
    return steps;
}

std::string directory_name(const fs::path& directory) {
    const fs::path absolute = fs::absolute(directory).lexically_normal();
    return (absolute.has_filename() ? absolute : absolute.parent_path()).filename().string();
}

GradientFiles complete_step(const fs::path& directory, const Step& step) {
    GradientFiles files{directory_name(directory), step.name, {}};
    for (const auto& [worker, path] : step.workers) {
        if (worker != files.ranks.size()) {
            throw InputError(
                fmt::format("'{}' lacks worker {} of {} although it has worker {}; add the file, "
                            "or name one file "
                            "for each rank",
                            directory.string(), files.ranks.size(), step.name, worker));
        }
        files.ranks.push_back(path);
    }
    return files;
}

}  // namespace

std::vector<GradientFiles> find_steps(const fs::path& directory) {
    std::vector<GradientFiles> found;
    for (const auto& [number, step] : list_steps(directory))
        found.push_back(complete_step(directory, step));
    return found;
}

GradientFiles find_gradients(const std::vector<fs::path>& directory_or_files,
                             std::optional<unsigned> step) {
    std::error_code ignored;
    const auto is_directory = [&](const fs::path& path) { return fs::is_directory(path, ignored); };
    if (directory_or_files.empty()) {
        throw InputError("no gradients are named; give a directory, or one file for each rank");
    }
    if (directory_or_files.size() == 1 && is_directory(directory_or_files.front())) {
        const fs::path& directory = directory_or_files.front();
        const auto steps = list_steps(directory);
        const auto chosen = step ? steps.find(*step) : std::prev(steps.end());
        if (chosen == steps.end()) {
            std::string there;
            for (const auto& [number, other] : steps)
                there += fmt::format("{}{}", there.empty() ? "" : ", ", number);
            throw InputError(fmt::format("'{}' has no step {}; choose one of {}",
                                         directory.string(), *step, there));
        }
        return complete_step(directory, chosen->second);
    }
    const auto directory = std::ranges::find_if(directory_or_files, is_directory);
    if (directory != directory_or_files.end()) {
        throw InputError(fmt::format(
            "'{}' is a directory among several arguments; give one directory, or one file for each "
            "rank",
            directory->string()));
    }
    if (step) {
        throw InputError(
            "a step is chosen from a directory; name the step's files, or a directory");
    }
    return {"files", "", directory_or_files};
}

std::vector<std::vector<float>> read_gradients(const GradientFiles& files) {
    std::vector<std::vector<float>> ranks;
    for (const fs::path& path : files.ranks) {
        ranks.push_back(read_npy(path));
        if (ranks.back().size() != ranks.front().size()) {
            throw InputError(fmt::format(
                "'{}' has {} elements, but '{}' has {}; all ranks must be of one step of one model",
                path.string(), ranks.back().size(), files.ranks.front().string(),
                ranks.front().size()));
        }
    }
    return ranks;
}

}  // namespace sumwire::apps
