// SIGINT, SIGTERM and SIGHUP as something to wait for.
#pragma once

#include <csignal>

#include "apps/support/descriptor.h"

namespace sumwire::apps {

// Blocks these signals in the thread that makes it, and in the threads that this one starts.
class StopRequests {
  public:
    StopRequests();
    ~StopRequests();
    StopRequests(const StopRequests&) = delete;
    StopRequests& operator=(const StopRequests&) = delete;

    // Readable once a signal has come.
    int descriptor() const { return descriptor_.get(); }
    // That signal, or 0.
    int take();

  private:
    sigset_t before_{};
    Descriptor descriptor_;
};

}  // namespace sumwire::apps
