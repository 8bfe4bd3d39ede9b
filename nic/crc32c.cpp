#include "nic/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace sumwire::nic {
namespace {

constexpr std::uint32_t reflected_polynomial = 0x82f63b78;

using Table = std::array<std::uint32_t, 256>;

// tables[k][b]: what byte b contributes when k further bytes follow it (slicing by eight).
constexpr std::array<Table, 8> make_tables() {
    std::array<Table, 8> tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? reflected_polynomial : 0);
        }
        tables[0][byte] = crc;
    }
    for (std::size_t k = 1; k < tables.size(); ++k) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = tables[k - 1][byte];
            tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
        }
    }
    return tables;
}

constexpr std::array<Table, 8> tables = make_tables();

std::uint64_t load_little(const std::byte* from) {
    std::uint64_t value;
    std::memcpy(&value, from, sizeof value);
    if constexpr (std::endian::native == std::endian::big) value = __builtin_bswap64(value);
    return value;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(std::span<const std::byte> data,
                                                             std::uint32_t previous) {
    std::uint64_t crc = ~previous;
    const std::byte* p = data.data();
    std::size_t left = data.size();
    for (; left >= 8; left -= 8, p += 8)
        crc = _mm_crc32_u64(crc, load_little(p));
    auto crc32 = static_cast<std::uint32_t>(crc);
    for (; left > 0; --left, ++p)
        crc32 = _mm_crc32_u8(crc32, static_cast<std::uint8_t>(*p));
    return ~crc32;
}
#endif

using Function = std::uint32_t (*)(std::span<const std::byte>, std::uint32_t);

Function choose() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2") != 0) return crc32c_sse42;
#endif
    return crc32c_portable;
}

}  // namespace

std::uint32_t crc32c_portable(std::span<const std::byte> data, std::uint32_t previous) {
    std::uint32_t crc = ~previous;
    const std::byte* p = data.data();
    std::size_t left = data.size();
    for (; left >= 8; left -= 8, p += 8) {
        const std::uint64_t word = load_little(p) ^ crc;
        crc = 0;
        for (unsigned i = 0; i < 8; ++i)
            crc ^= tables[7 - i][(word >> (8 * i)) & 0xff];
    }
    for (; left > 0; --left, ++p) {
        crc = (crc >> 8) ^ tables[0][(crc ^ static_cast<std::uint8_t>(*p)) & 0xff];
    }
    return ~crc;
}

std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t previous) {
    static const Function function = choose();
    return function(data, previous);
}

}  // namespace sumwire::nic
