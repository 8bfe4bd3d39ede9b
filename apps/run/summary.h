// What a run has shown, as a table for people.
#pragma once

#include <vector>

#include "apps/support/sum_rows.h"

namespace sumwire::apps {

// `description` is a communicator's.
void print_head(const SumSubject& subject, const std::string& description);
void print_row(const SumSubject& subject, const SumRow& row);
// What "right" means.
void print_legend(const SumSubject& subject, const std::vector<SumChoice>& choices);

}  // namespace sumwire::apps
