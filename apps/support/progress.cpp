#include "apps/support/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

namespace sumwire::apps {

Progress::Progress(bool always)
    : terminal_(isatty(STDERR_FILENO) == 1), shown_(always || terminal_) {}

Progress::~Progress() {
    clear();
}

void Progress::show(std::string_view text) {
    if (!shown_) return;
    if (terminal_) {
        fmt::print(stderr, "\r\033[K{}", text);
        line_open_ = true;
    } else {
        fmt::print(stderr, "{}\n", text);
    }
    std::fflush(stderr);
}

void Progress::clear() {
    if (!line_open_) return;
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
    line_open_ = false;
}

}  // namespace sumwire::apps
