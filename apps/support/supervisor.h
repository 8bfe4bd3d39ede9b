// Watches over child processes: passes on their output and tells how they end.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/support/child_process.h"
#include "apps/support/line_prefixer.h"
#include "apps/support/stop_requests.h"

namespace sumwire::apps {

class Supervisor {
  public:
    using Clock = std::chrono::steady_clock;
    using Id = std::size_t;

    enum class Output {
        passed_on,  // as it comes, with the prefix before each line
        held_back   // kept for show
    };
    // Throws LaunchError.
    Id start(const ChildSpec& spec, const std::string& prefix, Output output = Output::passed_on);
    // Writes what was held back to standard error, once.
    void show(Id child);

    struct Ended {
        Id child;
        ChildExit exit;
    };
    // Waits until children have ended, which it tells once; or until a stop is requested, `also` (a
    // descriptor, or -1) is readable, or the time has come.
    std::vector<Ended> wait(Clock::time_point until, int also = -1);

    bool running(Id child) const { return !children_[child].ended; }
    bool any_running(std::span<const Id> children) const;

    // SIGTERM, and after the patience SIGKILL. Returns when they have ended.
    void stop(std::span<const Id> children, std::chrono::milliseconds patience);

    // SIGINT, SIGTERM or SIGHUP, once it has come; else 0.
    int stop_requested() const { return stop_requested_; }

  private:
    struct Stream {
        int from;
        int to;  // -1: hold back
        LinePrefixer lines;
        std::string held_back = {};
    };
    struct Child {
        std::unique_ptr<ChildProcess> process;
        Stream output;
        Stream error;
        bool ended = false;
    };

    static void write(Stream& stream, const std::string& text);
    static void pass_on(Stream& stream);
    static void finish(Stream& stream);

    StopRequests stop_requests_;
    int stop_requested_ = 0;
    std::vector<Child> children_;
};

}  // namespace sumwire::apps
