// Ethernet II frames that carry IPv4 and UDP: written and read. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "nic/dpdk/neighbor.h"
#include "nic/endpoint.h"
#include "nic/wire.h"

namespace sumwire::nic {

inline constexpr std::size_t ethernet_header_bytes = 14;
inline constexpr std::size_t ipv4_header_bytes = 20;
inline constexpr std::size_t udp_header_bytes = 8;
static_assert(ipv4_header_bytes + udp_header_bytes == ip_and_udp_bytes);
static_assert(ethernet_header_bytes + ip_and_udp_bytes == network_header_bytes);

// Without the frame check sequence, which the device adds. Shorter frames are padded.
inline constexpr std::size_t min_frame_bytes = 60;

inline constexpr std::uint16_t ether_type_ipv4 = 0x0800;
inline constexpr std::uint16_t ether_type_arp = 0x0806;

// Big endian at byte 12; 0 if the frame is too short.
std::uint16_t ether_type(std::span<const std::byte> frame);

struct UdpPath {
    MacAddress source_mac{};
    MacAddress destination_mac{};
    Endpoint from;
    Endpoint to;
};

// Writes the headers before a datagram of so many bytes: no IP options, "don't fragment", TTL 64,
// IP checksum filled in, UDP checksum 0 (absent).
void write_udp_headers(const UdpPath& path, std::size_t datagram_bytes,
                       std::span<std::byte, network_header_bytes> out);

struct UdpFrame {
    MacAddress source_mac{};
    Endpoint from;
    Endpoint to;
    std::size_t udp_offset = 0;      // of the UDP header in the frame
    std::size_t datagram_bytes = 0;  // that follow the UDP header; padding does not count
    std::uint16_t checksum = 0;      // as received; 0: absent
};

// Empty unless the frame is a whole, undamaged, untagged IPv4 frame with UDP: version, header
// length, IP checksum and all lengths are verified, options are skipped, fragments refused. Does
// not look at the UDP checksum.
std::optional<UdpFrame> read_udp_frame(std::span<const std::byte> frame);

enum class UdpChecksumState : std::uint8_t {
    absent,
    right,
    // Only the pseudo header's sum is in the field: a kernel on this machine left the rest to a
    // device, and none was on the way (virtual Ethernet). Memory carried the frame.
    unfinished,
    wrong
};

UdpChecksumState check_udp(const UdpFrame& udp, std::span<const std::byte> frame);

}  // namespace sumwire::nic
