// The last sessions that ended, so that ranks which missed the end still learn of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "nic/control.h"
#include "nic/time.h"

namespace sumwire::aggregator {

struct Obituary {
    std::uint64_t session = 0;
    Time ended{};
    // Empty: every rank left, nobody needs to know.
    std::optional<nic::PeerLostNotice> lost;
};

class Obituaries {
  public:
    void add(const Obituary& obituary) {
        ring_[next_] = obituary;
        next_ = (next_ + 1) % ring_.size();
    }

    // Null if there was none in the last obituary_lifetime, or many ended since.
    const Obituary* find(std::uint64_t session, Time now) const;

  private:
    std::array<Obituary, 64> ring_{};
    std::size_t next_ = 0;
};

}  // namespace sumwire::aggregator
