// Sums gradient files with each choice of codec and arithmetic, and checks and shows the results.
#pragma once

#include "apps/run/command_line.h"

namespace sumwire::apps {

// The exit status: 0 if every result is right. Throws InputError, LaunchError, UsageError.
int run_gradients(const RunOptions& options);

// A message on standard error, as every program here writes it.
void complain(const std::string& message);

// 128 + signal, as shells have it.
int status_after(int signal);

}  // namespace sumwire::apps
