// What sending costs, as coarse as it takes to tell codecs apart: each step is a twelfth more.
#pragma once

#include <cstdint>

#include "nic/time.h"

namespace sumwire::runtime {

class LinkCosts {
  public:
    LinkCosts() = default;
    LinkCosts(Time round_trip, double bytes_per_second);

    // The larger code is the slower link, so the maximum over all ranks is the slowest of each.
    static LinkCosts of_codes(std::uint8_t round_trip, std::uint8_t slowness);
    std::uint8_t round_trip_code() const { return round_trip_; }
    std::uint8_t slowness_code() const { return slowness_; }

    double round_trip_seconds() const;
    double seconds_per_byte() const;

  private:
    // Until something is measured: 50 us, 10 Gbit/s.
    std::uint8_t round_trip_ = 70;
    std::uint8_t slowness_ = 118;
};

}  // namespace sumwire::runtime
