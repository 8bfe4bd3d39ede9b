// Carries messages from the processes of a benchmark to the one that started them.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "apps/support/descriptor.h"

namespace sumwire::apps {

class EventChannel {
  public:
    // Calls `on_event` from a thread of its own, in which signals are blocked. What it throws, and
    // damaged messages, end the program: both ends are this program. Throws std::system_error.
    explicit EventChannel(std::function<void(const nlohmann::json&)> on_event);
    // Returns when every event of processes that have ended was handled.
    ~EventChannel();
    EventChannel(const EventChannel&) = delete;
    EventChannel& operator=(const EventChannel&) = delete;

    // To be inherited by the processes.
    int sender() const { return sender_.get(); }

    // In such a process. Throws std::system_error.
    static void send(int sender, const nlohmann::json& event);

  private:
    Descriptor receiver_;
    Descriptor sender_;
    std::thread reader_;
};

}  // namespace sumwire::apps
