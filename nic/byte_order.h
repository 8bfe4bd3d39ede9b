// Big-endian integers at any alignment.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>

namespace sumwire::nic {

template <std::unsigned_integral T>
constexpr T swap_if_little(T value) {
    if constexpr (std::endian::native == std::endian::big || sizeof(T) == 1) {
        return value;
    } else if constexpr (sizeof(T) == 2) {
        return __builtin_bswap16(value);
    } else if constexpr (sizeof(T) == 4) {
        return __builtin_bswap32(value);
    } else {
        static_assert(sizeof(T) == 8);
        return __builtin_bswap64(value);
    }
}

template <std::unsigned_integral T>
T load_big(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return swap_if_little(value);
}

template <std::unsigned_integral T>
void store_big(std::byte* to, T value) {
    value = swap_if_little(value);
    std::memcpy(to, &value, sizeof value);
}

}  // namespace sumwire::nic
