// SIGINT and SIGTERM as a stop request.
#pragma once

#include <stop_token>
#include <thread>

namespace sumwire::apps {

// Blocks both signals in the thread that makes it, and so in all threads that this one starts
// later: make it first. One per process.
class StopSignals {
  public:
    StopSignals();
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    std::stop_token token() const { return source_.get_token(); }
    // The signal that came; 0 if none has. After the token was seen to stop.
    int received() const { return received_; }

  private:
    std::stop_source source_;
    int received_ = 0;
    std::jthread watcher_;
};

}  // namespace sumwire::apps
