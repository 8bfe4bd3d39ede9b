// Joins threads that nobody else can join: progress threads whose communicator was closed from one
// of their own callbacks. They must not run on while a process that returns from main takes down
// what they use.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

namespace sumwire::runtime {

// Takes a thread that will end by itself. `ended` becomes true as its last act. It is joined at a
// later call or, at the latest, when the process exits; an exit from the thread itself, or in a
// forked child, does not wait. Thread-safe.
void adopt_thread(std::thread thread, std::shared_ptr<const std::atomic<bool>> ended);

}  // namespace sumwire::runtime
