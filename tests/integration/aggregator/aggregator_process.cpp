#include "aggregator_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace sumwire::apps::test {
namespace {

constexpr std::chrono::seconds patience{30};

std::filesystem::path make_folder() {
    std::string name = std::filesystem::temp_directory_path() / "sumwire-aggregator-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    return name;
}

void redirect(const std::filesystem::path& file, int descriptor) {
    const int opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(opened, descriptor);
    ::close(opened);
}

// Polls until `done` or the deadline.
template <class Condition>
bool eventually(Condition done) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!done()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

}  // namespace

AggregatorProcess::AggregatorProcess(std::vector<std::string> arguments, bool sigint_ignored)
    : folder_(make_folder()) {
    const char* program = std::getenv("SUMWIRE_AGGREGATOR_PROGRAM");
    if (program == nullptr) {
        throw std::runtime_error(
            "run this through meson test, which sets "
            "SUMWIRE_AGGREGATOR_PROGRAM to the program's path");
    }
    std::vector<std::string> own{program, "--ready-file", folder_ / "ready"};
    if (std::ranges::find(arguments, "--json") == arguments.end()) {
        own.insert(own.end(), {"--json", folder_ / "statistics"});
    }
    arguments.insert(arguments.begin(), own.begin(), own.end());
    std::vector<char*> argv;
    for (std::string& argument : arguments)
        argv.push_back(argument.data());
    argv.push_back(nullptr);

    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("fork failed");
    if (pid_ == 0) {
        redirect(folder_ / "stdout", STDOUT_FILENO);
        redirect(folder_ / "stderr", STDERR_FILENO);
        std::signal(SIGINT, sigint_ignored ? SIG_IGN : SIG_DFL);
        ::execv(argv[0], argv.data());
        ::_exit(127);
    }
}

AggregatorProcess::~AggregatorProcess() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

nic::Endpoint AggregatorProcess::wait_until_ready() {
    if (!eventually([&] { return std::filesystem::exists(folder_ / "ready"); })) {
        ADD_FAILURE() << "not ready; it said:\n" << standard_error();
        return {};
    }
    const std::string text = read(folder_ / "ready");
    return nic::parse_endpoint(text.substr(0, text.find('\n')));
}

void AggregatorProcess::signal(int number) const {
    ::kill(pid_, number);
}

int AggregatorProcess::exit_code() {
    int status = 0;
    if (!eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; })) return -1;
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

nlohmann::json AggregatorProcess::statistics() const {
    return nlohmann::json::parse(read(folder_ / "statistics"));
}

std::string AggregatorProcess::read(const std::filesystem::path& file) const {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace sumwire::apps::test
