#include "runtime/engine/completion.h"

#include <utility>

namespace sumwire::runtime {

void Completion::finish(std::exception_ptr failure) {
    std::vector<std::function<void(std::exception_ptr)>> callbacks;
    {
        const std::lock_guard lock(mutex_);
        done_ = true;
        failure_ = failure;
        callbacks.swap(callbacks_);
    }
    ended_.notify_all();
    for (const auto& callback : callbacks)
        callback(failure);
}

bool Completion::done() const {
    const std::lock_guard lock(mutex_);
    return done_;
}

void Completion::wait() const {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return done_; });
    if (failure_) std::rethrow_exception(failure_);
}

bool Completion::wait_for(std::chrono::nanoseconds timeout) const {
    std::unique_lock lock(mutex_);
    if (!ended_.wait_for(lock, timeout, [this] { return done_; })) return false;
    if (failure_) std::rethrow_exception(failure_);
    return true;
}

void Completion::then(std::function<void(std::exception_ptr)> f) {
    std::unique_lock lock(mutex_);
    if (!done_) {
        callbacks_.push_back(std::move(f));
        return;
    }
    const std::exception_ptr failure = failure_;
    lock.unlock();
    f(failure);
}

}  // namespace sumwire::runtime
