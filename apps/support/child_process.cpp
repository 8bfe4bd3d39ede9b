#include "apps/support/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "apps/support/launch_error.h"

namespace sumwire::apps {
namespace {

struct Pipe {
    Descriptor read;
    Descriptor write;

    Pipe() {
        std::array<int, 2> ends{};
        if (pipe2(ends.data(), O_CLOEXEC) != 0) {
            throw LaunchError(fmt::format("no pipe: {}; raise 'ulimit -n' or start fewer workers",
                                          std::strerror(errno)));
        }
        read = Descriptor(ends[0]);
        write = Descriptor(ends[1]);
    }
};

// The caller's environment with the additions in place of what has the same name.
std::vector<std::string> merged_environment(const std::vector<std::string>& additions) {
    std::vector<std::string> merged = additions;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view name_and_value(*variable);
        const auto name = name_and_value.substr(0, name_and_value.find('=') + 1);
        bool replaced = false;
        for (const auto& addition : additions)
            replaced = replaced || std::string_view(addition).starts_with(name);
        if (!replaced) merged.emplace_back(name_and_value);
    }
    return merged;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (auto& string : strings)
        result.push_back(string.data());
    result.push_back(nullptr);
    return result;
}

// Runs between fork and exec: async-signal-safe calls only.
struct Takeoff {
    const ChildSpec& spec;
    char* const* arguments;
    char* const* environment;
    int output;
    int error;
    int failure;  // receives errno if the program does not start
    pid_t parent;

    [[noreturn]] void run() const {
        setpgid(0, 0);
        // The death signal is not delivered for a parent that has died before it was asked for.
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) fail();
        const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (input < 0 || dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
            dup2(error, STDERR_FILENO) < 0) {
            fail();
        }
        for (const int descriptor : spec.inherited)
            if (fcntl(descriptor, F_SETFD, 0) != 0) fail();
        if (spec.network >= 0 && setns(spec.network, CLONE_NEWNET) != 0) fail();
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, nullptr);
        execvpe(arguments[0], arguments, environment);
        fail();
    }

    [[noreturn]] void fail() const {
        const int cause = errno;
        [[maybe_unused]] const auto written = write(failure, &cause, sizeof cause);
        _exit(127);
    }
};

void make_non_blocking(const Descriptor& descriptor) {
    fcntl(descriptor.get(), F_SETFL, O_NONBLOCK);
}

}  // namespace

std::string to_string(const ChildExit& exit) {
    if (exit.signal == 0) return fmt::format("exited with status {}", exit.status);
    const char* name = sigabbrev_np(exit.signal);
    return fmt::format("was killed by SIG{} ({})", name == nullptr ? "?" : name,
                       sigdescr_np(exit.signal) == nullptr ? "?" : sigdescr_np(exit.signal));
}

ChildProcess::ChildProcess(const ChildSpec& spec) {
    Pipe output;
    Pipe error;
    Pipe failure;
    auto arguments = spec.arguments;
    auto environment = merged_environment(spec.environment);
    const auto argv = pointers(arguments);
    const auto envp = pointers(environment);
    const Takeoff takeoff{spec,
                          argv.data(),
                          envp.data(),
                          output.write.get(),
                          error.write.get(),
                          failure.write.get(),
                          getpid()};
    pid_ = fork();
    if (pid_ == 0) takeoff.run();
    if (pid_ < 0) {
        throw LaunchError(
            fmt::format("no further process: {}; raise 'ulimit -u' or start fewer workers",
                        std::strerror(errno)));
    }
    failure.write.reset();
    int cause = 0;
    ssize_t count = 0;
    do {
        count = read(failure.read.get(), &cause, sizeof cause);
    } while (count < 0 && errno == EINTR);
    if (count == sizeof cause) {
        waitpid(pid_, nullptr, 0);
        throw LaunchError(fmt::format(
            "cannot start '{}': {}; give the path of an executable file (./program for one here)",
            arguments.front(), std::strerror(cause)));
    }
    // glibc 2.36's declaration of pidfd_open is not fit for C++.
    ended_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    output_ = std::move(output.read);
    error_ = std::move(error.read);
    make_non_blocking(output_);
    make_non_blocking(error_);
}

ChildProcess::~ChildProcess() {
    if (poll()) return;
    send(SIGKILL);
    waitpid(pid_, nullptr, 0);
}

void ChildProcess::send(int signal) const {
    kill(-pid_, signal);
}

std::optional<ChildExit> ChildProcess::poll() {
    siginfo_t info{};
    if (exit_ || waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0) {
        return exit_;
    }
    // What it has left behind; before it is reaped, so that the group's number is still its own.
    send(SIGKILL);
    waitpid(pid_, nullptr, 0);
    exit_ =
        info.si_code == CLD_EXITED ? ChildExit{info.si_status, 0} : ChildExit{0, info.si_status};
    return exit_;
}

}  // namespace sumwire::apps
