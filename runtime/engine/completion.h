// The end of an operation: waited for by any thread, reached once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/log.h"

namespace sumwire::runtime {

class Completion {
  public:
    using Callback = std::function<void(std::exception_ptr)>;

    // What callbacks throw goes to this log as a warning.
    explicit Completion(std::shared_ptr<const Log> log);

    // Null: it went well. Calls what then() left behind; every callback is called, whatever the
    // others throw. Called once.
    void finish(const std::exception_ptr& failure) noexcept;

    bool done() const;
    // Block until finish; rethrow its failure. On a progress thread, which would wait for itself,
    // they throw Error instead of blocking.
    void wait() const;
    bool wait_for(std::chrono::nanoseconds timeout) const;
    void then(Callback f);

  private:
    std::shared_ptr<const Log> log_;
    mutable std::mutex mutex_;
    mutable std::condition_variable ended_;
    bool done_ = false;
    std::exception_ptr failure_;
    std::vector<Callback> callbacks_;
};

// Calls f; what it throws is logged.
void call_back(const Completion::Callback& f, const std::exception_ptr& failure,
               const Log& log) noexcept;

}  // namespace sumwire::runtime
