// What a polling loop does when it finds nothing to do.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "nic/port.h"

namespace sumwire::nic {

enum class Polling : std::uint8_t {
    automatic,  // yield, but spins for some milliseconds first where every poller can have a core
    spin,       // never gives the core away: lowest latency
    yield,  // gives the core to whoever is runnable after a few empty polls; naps when idle long
    sleep   // waits in the port (readiness or a short nap) after a few empty polls: lowest CPU use
};

// Reads "auto", "spin", "yield", "sleep"; throws std::invalid_argument naming them.
Polling parse_polling(std::string_view text);

// One per polling thread.
class IdleStrategy {
  public:
    // `pollers` is the number of polling threads that may be busy on this machine at once; it only
    // matters for Polling::automatic.
    IdleStrategy(Polling polling, unsigned pollers);

    // The loop did work.
    void reset() { empty_polls_ = 0; }
    // The loop found nothing. May sleep up to `limit` inside `port.wait`.
    void idle(PacketPort& port, std::chrono::microseconds limit);

  private:
    Polling polling_;
    std::uint32_t pauses_;  // empty polls until it does more than pause
    std::uint32_t empty_polls_ = 0;
};

}  // namespace sumwire::nic
