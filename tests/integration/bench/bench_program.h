// Runs sumwire-bench as a user would.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace sumwire::test {

struct BenchRun {
    int exit_code = -1;
    std::string output;   // standard output
    std::string errors;   // standard error
    nlohmann::json rows;  // what --json wrote; null if nothing did
};

// In the project's root directory. `arguments` as in a shell; "--json" is added if `with_json`.
BenchRun run_bench(const std::string& arguments, bool with_json = true);

}  // namespace sumwire::test
