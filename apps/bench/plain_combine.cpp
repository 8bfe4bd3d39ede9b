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

}  // namespace

void plain_combine(nic::Op op, std::span<std::byte> accumulator,
                   std::span<const std::byte> payload) {
    switch (op) {
        case nic::Op::bit_or:
            return for_each<std::uint32_t>(accumulator, payload,
                                           [](auto a, auto b) { return a | b; });
        case nic::Op::add_i32:
            return for_each<std::uint32_t>(accumulator, payload,
                                           [](auto a, auto b) { return a + b; });
        case nic::Op::max_u8:
            return for_each<std::uint8_t>(accumulator, payload,
                                          [](auto a, auto b) { return std::max(a, b); });
        case nic::Op::add_f32:
            return for_each<float>(accumulator, payload, [](auto a, auto b) { return a + b; });
        case nic::Op::none:
            return;
    }
}

}  // namespace sumwire::apps
