// The end of an operation: waited for by any thread, reached once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

namespace sumwire::runtime {

class Completion {
  public:
    // Null: it went well. Calls what then() left behind. Called once.
    void finish(std::exception_ptr failure);

    bool done() const;
    // Block until finish; rethrow its failure.
    void wait() const;
    bool wait_for(std::chrono::nanoseconds timeout) const;
    void then(std::function<void(std::exception_ptr)> f);

  private:
    mutable std::mutex mutex_;
    mutable std::condition_variable ended_;
    bool done_ = false;
    std::exception_ptr failure_;
    std::vector<std::function<void(std::exception_ptr)>> callbacks_;
};

}  // namespace sumwire::runtime
