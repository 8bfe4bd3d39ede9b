// Where a datagram comes from or goes to.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace sumwire::nic {

// An IPv4 address and UDP port, both in host byte order, and the link that leads there.
struct Endpoint {
    std::uint32_t address = 0;
    std::uint16_t port = 0;
    // Index of the member inside a CompositePort; 0 everywhere else. Never on the wire.
    std::uint16_t link = 0;

    auto operator<=>(const Endpoint&) const = default;
};

inline constexpr std::uint16_t default_udp_port = 0x5357;  // "SW", 21335

// Reads "a.b.c.d", "a.b.c.d:port" or "name:port" (names through the resolver, IPv4 only).
// Throws std::invalid_argument that quotes the text and says what is expected.
Endpoint parse_endpoint(std::string_view text, std::uint16_t port_if_absent = default_udp_port);

// "a.b.c.d:port"
std::string to_string(const Endpoint& endpoint);

}  // namespace sumwire::nic
