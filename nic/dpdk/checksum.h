// The Internet checksum (RFC 1071) and its use by UDP over IPv4 (RFC 768). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sumwire::nic {

// One's complement sum over bytes that come in pieces of any length.
class InternetSum {
  public:
    InternetSum& add(std::span<const std::byte> piece);
    // As if its two bytes, big endian, came next. Only where an even number of bytes came before.
    InternetSum& add_word(std::uint16_t word);
    // In host order, not complemented.
    std::uint16_t folded() const;

  private:
    std::uint64_t sum_ = 0;  // of 16-bit words as this host reads them
    bool odd_ = false;
};

// Sum of the pseudo header: what a device that computes checksums wants to find in the field, not
// complemented.
std::uint16_t pseudo_header_sum(std::uint32_t source, std::uint32_t destination,
                                std::uint16_t udp_bytes);

// For the checksum field; never 0. `udp_header` has 8 bytes, its checksum field is 0; the datagram
// is `head` followed by `tail`.
std::uint16_t udp_checksum(std::uint32_t source, std::uint32_t destination,
                           std::span<const std::byte> udp_header, std::span<const std::byte> head,
                           std::span<const std::byte> tail);

}  // namespace sumwire::nic
