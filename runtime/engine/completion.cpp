#include "runtime/engine/completion.h"

#include <string>
#include <utility>

#include "nic/time.h"
#include "runtime/progress_thread.h"
#include "sumwire/errors.h"

namespace sumwire::runtime {

namespace {

void refuse_to_wait_for_oneself() {
    if (!on_progress_thread()) return;
    throw Error(
        "a callback given to Work::then waits for an operation, which ends only after the callback "
        "returns: start the operation there and give it a callback of its own, or wait on another "
        "thread");
}

// Called while an exception is handled. A message that cannot be composed is dropped.
void log_current_exception(const Log& log) noexcept {
    try {
        log(LogLevel::warning, "a callback given to Work::then threw, and should handle itself: " +
                                   message_of(std::current_exception()));
    } catch (...) {  // NOLINT(bugprone-empty-catch)
    }
}

}  // namespace

void call_back(const Completion::Callback& f, const std::exception_ptr& failure,
               const Log& log) noexcept {
    try {
        f(failure);
    } catch (...) {
        log_current_exception(log);
    }
}

Completion::Completion(std::shared_ptr<const Log> log) : log_(std::move(log)) {}

void Completion::finish(const std::exception_ptr& failure) noexcept {
    std::vector<Callback> callbacks;
    {
        const std::lock_guard lock(mutex_);
        done_ = true;
        failure_ = failure;
        callbacks.swap(callbacks_);
    }
    ended_.notify_all();
    for (const Callback& callback : callbacks)
        call_back(callback, failure, *log_);
}

bool Completion::done() const {
    const std::lock_guard lock(mutex_);
    return done_;
}

void Completion::wait() const {
    std::unique_lock lock(mutex_);
    if (!done_) refuse_to_wait_for_oneself();
    ended_.wait(lock, [this] { return done_; });
    if (failure_) std::rethrow_exception(failure_);
}

bool Completion::wait_for(std::chrono::nanoseconds timeout) const {
    const std::chrono::steady_clock::time_point until(deadline_after(steady_now(), timeout));
    std::unique_lock lock(mutex_);
    if (!done_ && timeout > timeout.zero()) refuse_to_wait_for_oneself();
    if (!ended_.wait_until(lock, until, [this] { return done_; })) return false;
    if (failure_) std::rethrow_exception(failure_);
    return true;
}

void Completion::then(Callback f) {
    std::unique_lock lock(mutex_);
    if (!done_) {
        callbacks_.push_back(std::move(f));
        return;
    }
    const std::exception_ptr failure = failure_;
    lock.unlock();
    call_back(f, failure, *log_);
}

}  // namespace sumwire::runtime
