#include "gpu/codec/counters.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace sumwire::gpu {

namespace {

// Bit i of a byte at bit i * counter_bits.
template <unsigned counter_bits>
constexpr auto make_spread_table() {
    std::array<std::uint64_t, 256> table{};
    for (unsigned byte = 0; byte < table.size(); ++byte) {
        for (unsigned i = 0; i < 8; ++i)
            table[byte] |= std::uint64_t{byte >> i & 1} << (i * counter_bits);
    }
    return table;
}

template <unsigned counter_bits>
void spread(std::span<const std::byte> bits, std::byte* counters) {
    static constexpr auto table = make_spread_table<counter_bits>();
    for (const std::byte byte : bits) {
        std::memcpy(counters, &table[std::to_integer<std::size_t>(byte)], counter_bits);
        counters += counter_bits;
    }
}

// The lowest bit of each counter: whether it is not zero.
template <unsigned counter_bits>
std::uint64_t in_use(std::uint64_t counters) {
    if constexpr (counter_bits == 8) counters |= counters >> 4;
    if constexpr (counter_bits >= 4) counters |= counters >> 2;
    counters |= counters >> 1;
    constexpr std::uint64_t lowest = counter_bits == 8   ? 0x0101'0101'0101'0101
                                     : counter_bits == 4 ? 0x1111'1111
                                                         : 0x5555;
    return counters & lowest;
}

// Those bits next to each other.
template <unsigned counter_bits>
std::uint8_t collect(std::uint64_t x) {
    if constexpr (counter_bits == 8) {
        return static_cast<std::uint8_t>(x * 0x0102'0408'1020'4080 >> 56);
    } else if constexpr (counter_bits == 4) {
        x = (x | x >> 3) & 0x0303'0303;
        x = (x | x >> 6) & 0x000f'000f;
        return static_cast<std::uint8_t>(x | x >> 12);
    } else {
        x = (x | x >> 1) & 0x3333;
        x = (x | x >> 2) & 0x0f0f;
        return static_cast<std::uint8_t>(x | x >> 4);
    }
}

template <unsigned counter_bits>
void gather_bits(const std::byte* counters, std::span<std::byte> bits) {
    for (std::byte& byte : bits) {
        std::uint64_t some = 0;
        std::memcpy(&some, counters, counter_bits);
        byte = std::byte{collect<counter_bits>(in_use<counter_bits>(some))};
        counters += counter_bits;
    }
}

}  // namespace

void count_bits(std::span<const std::byte> bits, unsigned counter_bits,
                std::span<std::byte> counters) {
    switch (counter_bits) {
        case 2:
            return spread<2>(bits, counters.data());
        case 4:
            return spread<4>(bits, counters.data());
        default:
            return spread<8>(bits, counters.data());
    }
}

void count_bytes(std::span<const std::byte> bytes, unsigned counter_bits,
                 std::span<std::byte> counters) {
    std::ranges::fill(counters, std::byte{0});
    const std::size_t size = byte_counter_bytes(1, counter_bits);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const unsigned bit = std::to_integer<unsigned>(bytes[i]) * counter_bits;
        counters[i * size + bit / 8] = static_cast<std::byte>(1U << bit % 8);
    }
}

void or_of(std::span<const std::byte> counters, unsigned counter_bits, std::span<std::byte> bits) {
    switch (counter_bits) {
        case 2:
            return gather_bits<2>(counters.data(), bits);
        case 4:
            return gather_bits<4>(counters.data(), bits);
        default:
            return gather_bits<8>(counters.data(), bits);
    }
}

void maximum_of(std::span<const std::byte> counters, unsigned counter_bits,
                std::span<std::byte> bytes) {
    const std::size_t size = byte_counter_bytes(1, counter_bits);
    const unsigned mask = (1U << counter_bits) - 1;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        unsigned value = 255;
        while (value != 0) {
            const unsigned bit = value * counter_bits;
            const auto byte = std::to_integer<unsigned>(counters[i * size + bit / 8]);
            if ((byte >> bit % 8 & mask) != 0) break;
            --value;
        }
        bytes[i] = static_cast<std::byte>(value);
    }
}

}  // namespace sumwire::gpu
