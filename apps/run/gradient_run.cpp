#include "apps/run/gradient_run.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <stdexcept>

#include "apps/run/summary.h"
#include "apps/support/gradient_files.h"
#include "apps/support/json_file.h"
#include "apps/support/npy.h"
#include "apps/support/progress.h"
#include "apps/support/references.h"
#include "apps/support/sum_rows.h"
#include "apps/support/sum_session.h"

namespace sumwire::apps {
namespace {

GradientFiles choose_files(const RunOptions& options) {
    GradientFiles files = find_gradients(options.gradients, options.step);
    if (!options.workers) return files;
    if (*options.workers > files.ranks.size()) {
        throw UsageError(
            fmt::format("--workers {}: there are {} gradient files; add files or lower it",
                        *options.workers, files.ranks.size()));
    }
    files.ranks.resize(*options.workers);
    return files;
}

// Before a long run, not after it.
JsonFile open_json(const RunOptions& options) {
    try {
        return JsonFile(options.json_file);
    } catch (const std::invalid_argument& error) {
        throw UsageError(error.what());
    }
}

// Absolute: the ranks' own business is where they run.
std::filesystem::path make_output_directory(const RunOptions& options) {
    if (options.output_directory.empty()) return {};
    std::error_code error;
    std::filesystem::create_directories(options.output_directory, error);
    if (error) {
        throw UsageError(fmt::format("--output {}: {}; name a writable directory",
                                     options.output_directory.string(), error.message()));
    }
    return std::filesystem::absolute(options.output_directory);
}

class GradientRun {
  public:
    explicit GradientRun(const RunOptions& options)
        : options_(options),
          files_(choose_files(options)),
          gradients_(read_gradients(files_)),
          subject_{.model = files_.model,
                   .step = files_.step,
                   .transport = std::string(to_string(options.transport)),
                   .workers = gradients_.size(),
                   .elements = gradients_.front().size(),
                   .op = options.op},
          json_(open_json(options)),
          output_directory_(make_output_directory(options)),
          rows_(options.choices, gradients_.size(), [this](const SumRow& row) { conclude(row); }) {}

    int execute() {
        References references(gradients_, options_.op);
        std::vector<ExpectedSums> expected;
        for (const SumChoice& choice : options_.choices) {
            progress_.show(fmt::format("reference for {}", name_of(choice.arithmetic)));
            expected.push_back(references.of(choice.arithmetic));
        }
        const LaunchResult result = run_session(
            gradients_, task(), expected, settings(),
            {.progress = [this](auto text) { progress_.show(text); },
             .report = [this](auto rank, auto choice,
                              const auto& report) { rows_.add(rank, choice, report); }});
        progress_.clear();
        if (any_row_) print_legend(subject_, options_.choices);
        json_.save();
        for (const auto& failure : result.failures)
            complain(failure);
        if (result.interrupted_by != 0) return status_after(result.interrupted_by);
        return result.ok() && rows_.all_right() ? 0 : 1;
    }

  private:
    RankTask task() const {
        return {.choices = options_.choices,
                .op = options_.op,
                .iterations = options_.iterations,
                .polling = options_.polling,
                .payload_bytes = options_.payload_bytes,
                .deadline = options_.deadline,
                .output_directory = output_directory_};
    }

    SessionSettings settings() const {
        return {.transport = options_.transport,
                .aggregator = options_.aggregator,
                .embedded = options_.embedded,
                .faults = options_.faults,
                .mtu = options_.mtu,
                .show_aggregator = options_.verbose};
    }

    void conclude(const SumRow& row) {
        progress_.clear();
        if (!any_row_) print_head(subject_, row.description);
        any_row_ = true;
        print_row(subject_, row);
        for (const auto& complaint : row.complaints)
            complain(complaint);
        json_.add(to_json(subject_, row));
    }

    const RunOptions& options_;
    GradientFiles files_;
    std::vector<std::vector<float>> gradients_;
    SumSubject subject_;
    JsonFile json_;
    std::filesystem::path output_directory_;
    Progress progress_{false};
    SumRows rows_;
    bool any_row_ = false;
};

}  // namespace

int run_gradients(const RunOptions& options) {
    return GradientRun(options).execute();
}

void complain(const std::string& message) {
    std::fflush(stdout);
    fmt::print(stderr, "sumwire-run: {}\n", message);
}

int status_after(int signal) {
    return 128 + signal;
}

}  // namespace sumwire::apps
