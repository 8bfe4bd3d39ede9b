#include "tests/integration/run/command.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "apps/support/temporary_directory.h"

namespace sumwire::test {
namespace {

std::string read(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string variable(const std::string& name) {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr) throw std::runtime_error(name + " is unset; run meson test");
    return value;
}

}  // namespace

CommandResult run_command(const std::string& command) {
    const apps::TemporaryDirectory directory;
    const std::string output = (directory.path() / "output").string();
    const std::string error = (directory.path() / "error").string();
    const int status =
        std::system(("( " + command + " ) > '" + output + "' 2> '" + error + "'").c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(output), read(error)};
}

std::string run_program() {
    return "'" + variable("SUMWIRE_RUN_PROGRAM") + "' ";
}

std::string aggregator_program() {
    return "'" + variable("SUMWIRE_AGGREGATOR_PROGRAM") + "' ";
}

std::string worker_program() {
    return "'" + variable("SUMWIRE_WORKER_PROGRAM") + "' ";
}

std::filesystem::path source_root() {
    return variable("SUMWIRE_SOURCE_ROOT");
}

std::filesystem::path gradients() {
    return source_root() / "tests/data/gradients/ncf";
}

bool is_root() {
    return geteuid() == 0;
}

}  // namespace sumwire::test
