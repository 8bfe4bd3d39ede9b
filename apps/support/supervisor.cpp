#include "apps/support/supervisor.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <string_view>
#include <utility>

namespace sumwire::apps {
namespace {

void write_all(int to, std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(to, text.data(), text.size());
        if (count < 0 && errno != EINTR && errno != EAGAIN) return;
        if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
    }
}

int milliseconds_until(Supervisor::Clock::time_point time) {
    using std::chrono::milliseconds;
    if (time == Supervisor::Clock::time_point::max()) return -1;
    const auto left = std::chrono::ceil<milliseconds>(time - Supervisor::Clock::now()).count();
    return static_cast<int>(std::clamp<milliseconds::rep>(left, 0, INT_MAX));
}

}  // namespace

Supervisor::Id Supervisor::start(const ChildSpec& spec, const std::string& prefix, Output output) {
    auto process = std::make_unique<ChildProcess>(spec);
    const bool hold_back = output == Output::held_back;
    Stream out{process->standard_output(), hold_back ? -1 : STDOUT_FILENO, LinePrefixer(prefix)};
    Stream error{process->standard_error(), hold_back ? -1 : STDERR_FILENO, LinePrefixer(prefix)};
    children_.push_back({std::move(process), std::move(out), std::move(error)});
    return children_.size() - 1;
}

void Supervisor::show(Id child) {
    for (Stream* stream : {&children_[child].output, &children_[child].error})
        write_all(STDERR_FILENO, std::exchange(stream->held_back, {}));
}

void Supervisor::write(Stream& stream, const std::string& text) {
    if (stream.to >= 0) {
        write_all(stream.to, text);
    } else {
        stream.held_back += text;
    }
}

void Supervisor::pass_on(Stream& stream) {
    std::array<char, 16384> piece;
    while (stream.from >= 0) {
        const ssize_t count = read(stream.from, piece.data(), piece.size());
        if (count > 0) {
            write(stream, stream.lines.add({piece.data(), static_cast<std::size_t>(count)}));
        } else if (count == 0) {
            finish(stream);
        } else if (errno != EINTR) {
            return;
        }
    }
}

void Supervisor::finish(Stream& stream) {
    write(stream, stream.lines.finish());
    stream.from = -1;
}

std::vector<Supervisor::Ended> Supervisor::wait(Clock::time_point until, int also) {
    std::vector<Ended> ended;
    while (ended.empty()) {
        std::vector<pollfd> watched{{also, POLLIN, 0}, {stop_requests_.descriptor(), POLLIN, 0}};
        for (const Child& child : children_) {
            if (child.ended) continue;
            for (const int descriptor :
                 {child.process->ended(), child.output.from, child.error.from})
                watched.push_back({descriptor, POLLIN, 0});
        }
        const int ready = poll(watched.data(), watched.size(), milliseconds_until(until));
        for (Id id = 0; id < children_.size(); ++id) {
            Child& child = children_[id];
            if (child.ended) continue;
            const auto exit = child.process->poll();
            pass_on(child.output);
            pass_on(child.error);
            if (!exit) continue;
            finish(child.output);
            finish(child.error);
            child.ended = true;
            ended.push_back({id, *exit});
        }
        if (const int signal = stop_requests_.take(); signal != 0) {
            stop_requested_ = signal;
            break;
        }
        if ((watched.front().revents & POLLIN) != 0 || ready == 0) break;
    }
    return ended;
}

bool Supervisor::any_running(std::span<const Id> children) const {
    return std::ranges::any_of(children, [&](Id child) { return running(child); });
}

void Supervisor::stop(std::span<const Id> children, std::chrono::milliseconds patience) {
    const auto send = [&](int signal) {
        for (const Id child : children)
            if (running(child)) children_[child].process->send(signal);
    };
    send(SIGTERM);
    const auto limit = Clock::now() + patience;
    while (any_running(children) && Clock::now() < limit)
        wait(limit);
    send(SIGKILL);
    while (any_running(children))
        wait(Clock::time_point::max());
}

}  // namespace sumwire::apps
