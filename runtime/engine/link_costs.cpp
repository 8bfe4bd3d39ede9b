#include "runtime/engine/link_costs.h"

#include <algorithm>
#include <cmath>

namespace sumwire::runtime {

namespace {

// Powers of 2^(1/8), by a table so that every machine has the same bits.
constexpr double eighth_powers[] = {1.0,
                                    1.0905077326652577,
                                    1.1892071150027210,
                                    1.2968395546510096,
                                    1.4142135623730951,
                                    1.5422108254079407,
                                    1.6817928305074290,
                                    1.8340080864093424};

double value_of(std::uint8_t code, double unit) {
    return std::ldexp(eighth_powers[code % 8], code / 8) * unit;
}

std::uint8_t code_of(double value, double unit) {
    if (!(value > unit)) return 0;
    return static_cast<std::uint8_t>(std::lround(std::min(8 * std::log2(value / unit), 255.0)));
}

constexpr double round_trip_unit = 0x1p-23;  // 0.12 us
constexpr double slowness_unit = 0x1p-45;    // of a byte at 35 TB/s

}  // namespace

LinkCosts::LinkCosts(Time round_trip, double bytes_per_second)
    : round_trip_(code_of(std::chrono::duration<double>(round_trip).count(), round_trip_unit)),
      slowness_(code_of(1 / bytes_per_second, slowness_unit)) {}

LinkCosts LinkCosts::of_codes(std::uint8_t round_trip, std::uint8_t slowness) {
    LinkCosts costs;
    costs.round_trip_ = round_trip;
    costs.slowness_ = slowness;
    return costs;
}

double LinkCosts::round_trip_seconds() const {
    return value_of(round_trip_, round_trip_unit);
}

double LinkCosts::seconds_per_byte() const {
    return value_of(slowness_, slowness_unit);
}

}  // namespace sumwire::runtime
