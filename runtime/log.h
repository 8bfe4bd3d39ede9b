// Where a communicator's notes go.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include "sumwire/communicator.h"

namespace sumwire::runtime {

class Log {
  public:
    using Sink = std::function<void(LogLevel, std::string_view)>;

    // Without a sink, warnings go to standard error and the rest nowhere.
    explicit Log(Sink sink = {});

    // Thread-safe as far as the sink is. What the sink throws is lost: it has nowhere to go.
    void operator()(LogLevel level, std::string_view text) const noexcept;

  private:
    Sink sink_;
};

// What an exception, which must not be null, says of itself.
std::string message_of(const std::exception_ptr& failure);

}  // namespace sumwire::runtime
