#include "apps/support/stop_requests.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace sumwire::apps {

StopRequests::StopRequests() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
    descriptor_ = Descriptor(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

StopRequests::~StopRequests() {
    // One that has come must not end the program after all has been said.
    while (take() != 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int StopRequests::take() {
    signalfd_siginfo info{};
    const ssize_t count = read(descriptor_.get(), &info, sizeof info);
    return count == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace sumwire::apps
