// Gathers what the ranks report and turns it into rows.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "apps/bench/allreduce_plan.h"
#include "apps/bench/json_file.h"
#include "apps/bench/progress.h"
#include "apps/bench/table.h"

namespace sumwire::apps {

// What the rows of one session have in common.
struct AllreduceSubject {
    std::string model;
    std::string step;
    std::string port;
    unsigned workers = 0;
    std::size_t elements = 0;
    std::vector<CodecChoice> choices;
};

Table allreduce_table();

// Prints a row as soon as every rank has reported it. Thread-safe.
class AllreduceRows {
  public:
    AllreduceRows(AllreduceSubject subject, const Table& table, Progress& progress, JsonFile& json);

    void add(unsigned rank, std::size_t choice, const RankReport& report);
    void show_progress(std::string_view text);

    // Every row came, and every rank had the right sums, the same bits as the others, in every
    // iteration.
    bool all_exact() const;

  private:
    void emit(std::size_t choice);

    AllreduceSubject subject_;
    const Table& table_;
    Progress& progress_;
    JsonFile& json_;
    mutable std::mutex mutex_;
    std::vector<std::vector<std::optional<RankReport>>> reports_;  // of each choice, of each rank
    std::size_t exact_rows_ = 0;
};

}  // namespace sumwire::apps
