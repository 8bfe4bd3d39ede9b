// Ethernet addresses, and who has them.
#pragma once

#include <array>
#include <cstdint>

namespace sumwire::nic {

// In the order of transmission.
using MacAddress = std::array<std::uint8_t, 6>;

inline constexpr MacAddress broadcast_mac{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

// One station: neither a group address nor zero.
constexpr bool is_unicast(const MacAddress& mac) {
    return (mac[0] & 1) == 0 && mac != MacAddress{};
}

struct Neighbor {
    std::uint32_t address = 0;  // host byte order
    MacAddress mac{};
};

}  // namespace sumwire::nic
