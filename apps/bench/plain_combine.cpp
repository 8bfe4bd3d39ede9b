#include "apps/bench/plain_combine.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace sumwire::apps {
namespace {

// Through memcpy, which is free, because the arrays are bytes by type.
template <typename T, typename F>
void for_each(std::span<std::byte> accumulator, std::span<const std::byte> payload, F combine) {
    std::byte* const to = accumulator.data();
    const std::byte* const from = payload.data();
    for (std::size_t i = 0; i < accumulator.size(); i += sizeof(T)) {
        T a;
        T b;
        std::memcpy(&a, to + i, sizeof(T));
        std::memcpy(&b, from + i, sizeof(T));
        a = combine(a, b);
        std::memcpy(to + i, &a, sizeof(T));
    }
}

template <typename T>
void add(std::span<std::byte> accumulator, std::span<const std::byte> payload) {
    for_each<T>(accumulator, payload, [](T a, T b) { return static_cast<T>(a + b); });
}

template <typename T>
void maximum(std::span<std::byte> accumulator, std::span<const std::byte> payload) {
    for_each<T>(accumulator, payload, [](T a, T b) { return std::max(a, b); });
}

}  // namespace

void plain_combine(nic::Op op, std::span<std::byte> accumulator,
                   std::span<const std::byte> payload) {
    switch (op) {
        case nic::Op::bit_or:
            return for_each<std::uint32_t>(accumulator, payload,
                                           [](auto a, auto b) { return a | b; });
        case nic::Op::add_i32:
            return add<std::uint32_t>(accumulator, payload);
        case nic::Op::add_i64:
            return add<std::uint64_t>(accumulator, payload);
        case nic::Op::add_f32:
            return add<float>(accumulator, payload);
        case nic::Op::add_f64:
            return add<double>(accumulator, payload);
        case nic::Op::max_u8:
            return maximum<std::uint8_t>(accumulator, payload);
        case nic::Op::max_u16:
            return maximum<std::uint16_t>(accumulator, payload);
        case nic::Op::max_u32:
            return maximum<std::uint32_t>(accumulator, payload);
        case nic::Op::max_u64:
            return maximum<std::uint64_t>(accumulator, payload);
        case nic::Op::none:
            return;
    }
}

}  // namespace sumwire::apps
