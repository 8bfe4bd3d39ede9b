// What befalls each datagram of one direction: a function of the seed and the datagram's position
// alone, so that a run can be repeated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/fault/fault_options.h"

namespace sumwire::nic {

struct Fate {
    bool lost = false;
    bool duplicated = false;
    bool corrupted = false;        // the first copy only
    unsigned displacement = 0;     // later datagrams that pass the first copy
    unsigned duplicate_after = 0;  // and the second one, at least 1

    bool plain() const { return !lost && !duplicated && !corrupted && displacement == 0; }
};

enum class Direction : std::uint8_t { transmit, receive };

class FaultPlan {
  public:
    FaultPlan(const FaultOptions& options, Direction direction);

    Fate fate(std::uint64_t position) const;
    void corrupt(std::uint64_t position, std::span<std::byte> datagram) const;

  private:
    std::uint64_t draw(std::uint64_t position, unsigned purpose) const;
    bool happens(double probability, std::uint64_t position, unsigned purpose) const;

    FaultOptions options_;
    std::uint64_t key_;
    bool active_;
};

}  // namespace sumwire::nic
