#include "tests/port/dpdk/child.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <stdexcept>

namespace sumwire::nic {

Child::Child(const std::function<std::string()>& body) {
    std::array<int, 2> ends;
    if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
    process_ = fork();
    if (process_ < 0) throw std::runtime_error("no process");
    if (process_ != 0) {
        close(ends[1]);
        pipe_ = ends[0];
        return;
    }
    std::string text;
    try {
        text = body();
    } catch (const std::exception& error) {
        text = std::string("threw: ") + error.what();
    }
    text += '.';
    const bool written = write(ends[1], text.data(), text.size()) == std::ssize(text);
    _exit(written ? 0 : 1);
}

Child::~Child() {
    close(pipe_);
    if (process_ <= 0) return;
    kill();
    waitpid(process_, nullptr, 0);
}

std::string Child::report() {
    std::string text;
    std::array<char, 4096> some;
    ssize_t count;
    while ((count = read(pipe_, some.data(), some.size())) > 0) {
        text.append(some.data(), static_cast<std::size_t>(count));
    }
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = 0;
    if (WIFSIGNALED(status)) return "ended by signal " + std::to_string(WTERMSIG(status));
    if (text.empty()) return "ended with status " + std::to_string(WEXITSTATUS(status));
    text.pop_back();
    return text;
}

void Child::kill() {
    ::kill(process_, SIGKILL);
}

}  // namespace sumwire::nic
