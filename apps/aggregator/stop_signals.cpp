#include "apps/aggregator/stop_signals.h"

#include <pthread.h>

#include <csignal>

namespace sumwire::apps {

StopSignals::StopSignals() {
    // A shell starts background programs with SIGINT ignored, and an ignored signal never comes.
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    sigset_t stops;
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &stops, nullptr);
    watcher_ = std::jthread([this, stops] {
        int signal = 0;
        sigwait(&stops, &signal);
        received_ = signal;
        source_.request_stop();
    });
}

StopSignals::~StopSignals() {
    // Ends sigwait if no signal has.
    if (!source_.stop_requested()) pthread_kill(watcher_.native_handle(), SIGTERM);
}

}  // namespace sumwire::apps
