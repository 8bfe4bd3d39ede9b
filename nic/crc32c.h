// CRC-32C (Castagnoli), as in iSCSI (RFC 3720): reflected polynomial 0x82f63b78.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sumwire::nic {

// The CRC of `data`, or, given the CRC of what comes before it, of both in one piece:
// crc32c(b, crc32c(a)) == crc32c(a then b). Uses the CPU's instruction where there is one.
std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t previous = 0);

// The same from tables, on any CPU.
std::uint32_t crc32c_portable(std::span<const std::byte> data, std::uint32_t previous = 0);

}  // namespace sumwire::nic
