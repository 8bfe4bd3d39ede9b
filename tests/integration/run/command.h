// Runs programs as a user would.
#pragma once

#include <filesystem>
#include <string>

namespace sumwire::test {

struct CommandResult {
    int status = -1;     // exit status; -1 if a signal ended it
    std::string output;  // standard output
    std::string error;   // standard error
};

// By a shell.
CommandResult run_command(const std::string& command);

// "'/path/of/sumwire-run' " and the like, from what the build tells the tests.
std::string run_program();
std::string aggregator_program();
std::string worker_program();
std::filesystem::path source_root();
std::filesystem::path gradients();  // those of four workers

bool is_root();

}  // namespace sumwire::test
