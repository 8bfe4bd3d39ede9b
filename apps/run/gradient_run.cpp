#include "apps/run/gradient_run.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "apps/run/sum_job.h"
#include "apps/run/summary.h"
#include "apps/run/verdict.h"
#include "apps/support/gradient_files.h"
#include "apps/support/npy.h"

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

class GradientRun {
  public:
    explicit GradientRun(const RunOptions& options)
        : options_(options),
          files_(choose_files(options)),
          gradients_(read_gradients(files_)),
          subject_{files_.model, files_.step, gradients_.front().size(), gradients_.size(),
                   std::string(to_string(options.transport))},
          judge_(gradients_, options.op) {
        prepare_output();
    }

    int execute() {
        for (const SumChoice& choice : options_.choices) {
            const JobOutcome outcome = run_job(options_, choice, files_, gradients_);
            for (const auto& failure : outcome.status.failures)
                complain(failure);
            if (outcome.status.interrupted_by != 0)
                return status_after(outcome.status.interrupted_by);
            if (!outcome.status.ok()) {
                complain(fmt::format("{} {} has failed", name_of(choice.codec),
                                     name_of(choice.arithmetic)));
                right_ = false;
                break;
            }
            conclude(choice, outcome);
        }
        if (!rows_.empty()) print_legend(rows_);
        write_json();
        return right_ ? 0 : 1;
    }

  private:
    // Before a long run, not after it.
    void prepare_output() const {
        if (!options_.json_file.empty() && !std::ofstream(options_.json_file, std::ios::app)) {
            throw UsageError(fmt::format("--json {}: {}; name a file in a writable directory",
                                         options_.json_file.string(), std::strerror(errno)));
        }
        if (options_.output_directory.empty()) return;
        std::error_code error;
        std::filesystem::create_directories(options_.output_directory, error);
        if (error) {
            throw UsageError(fmt::format("--output {}: {}; name a writable directory",
                                         options_.output_directory.string(), error.message()));
        }
    }

    void conclude(const SumChoice& choice, const JobOutcome& outcome) {
        Row row = make_row(choice, outcome.reports);
        std::vector<std::string> complaints;
        for (std::size_t rank = 0; rank < outcome.results.size(); ++rank) {
            const Verdict verdict = judge_.judge(choice.arithmetic, outcome.results[rank]);
            if (verdict.wrong == 0 && outcome.reports[rank].repeatable) ++row.right_ranks;
            if (verdict.wrong != 0) {
                complaints.push_back(fmt::format(
                    "rank {} has {} wrong elements; the first is {}: {} instead of {}", rank,
                    verdict.wrong, verdict.first, verdict.found, verdict.expected));
            }
            if (!outcome.reports[rank].repeatable) {
                complaints.push_back(
                    fmt::format("rank {} has other bits in later iterations", rank));
            }
        }
        if (const auto dissenter = find_dissenter(outcome.results)) {
            complaints.push_back(fmt::format("rank {} has other bits than rank 0", *dissenter));
        }
        if (rows_.empty()) print_head(subject_, outcome.reports.front().description);
        print_row(subject_, row);
        for (const auto& complaint : complaints)
            complain(complaint);
        right_ = right_ && complaints.empty();
        rows_.push_back(std::move(row));
        write_results(choice, outcome);
    }

    void write_results(const SumChoice& choice, const JobOutcome& outcome) const {
        if (options_.output_directory.empty()) return;
        for (std::size_t rank = 0; rank < outcome.results.size(); ++rank) {
            write_npy(
                options_.output_directory / fmt::format("{}-{}-rank{}.npy", name_of(choice.codec),
                                                        name_of(choice.arithmetic), rank),
                outcome.results[rank]);
        }
    }

    void write_json() const {
        if (options_.json_file.empty()) return;
        auto list = nlohmann::ordered_json::array();
        for (const Row& row : rows_)
            list.push_back(to_json(subject_, row));
        std::ofstream file(options_.json_file);
        file << list.dump(2) << '\n';
        file.close();
        if (!file) {
            throw InputError(fmt::format("cannot write '{}': {}; free space there",
                                         options_.json_file.string(), std::strerror(errno)));
        }
    }

    const RunOptions& options_;
    GradientFiles files_;
    std::vector<std::vector<float>> gradients_;
    Subject subject_;
    Judge judge_;
    std::vector<Row> rows_;
    bool right_ = true;
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
