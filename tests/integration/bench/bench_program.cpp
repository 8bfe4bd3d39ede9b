#include "bench_program.h"

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace sumwire::test {
namespace {

std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

const char* variable(const char* name) {
    const char* const value = std::getenv(name);
    if (value == nullptr)
        throw std::runtime_error(fmt::format("{} is unset; run meson test", name));
    return value;
}

}  // namespace

BenchRun run_bench(const std::string& arguments, bool with_json) {
    const std::string root = variable("SUMWIRE_SOURCE_ROOT");
    const std::string program = variable("SUMWIRE_BENCH_PROGRAM");
    auto name = (std::filesystem::temp_directory_path() / "sumwire-test-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    const std::filesystem::path directory = name;
    const auto rows = directory / "rows.json";
    const auto command =
        fmt::format("cd '{}' && '{}' {} {} > '{}/output' 2> '{}/errors'", root, program, arguments,
                    with_json ? "--json '" + rows.string() + "'" : "", name, name);
    const int status = std::system(command.c_str());
    BenchRun run;
    if (WIFEXITED(status)) run.exit_code = WEXITSTATUS(status);
    run.output = read_file(directory / "output");
    run.errors = read_file(directory / "errors");
    if (std::filesystem::exists(rows)) run.rows = nlohmann::json::parse(read_file(rows));
    std::filesystem::remove_all(directory);
    return run;
}

}  // namespace sumwire::test
