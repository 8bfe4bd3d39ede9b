// Cuts a piece of device memory into arrays.
#pragma once

#include <cstddef>
#include <span>

namespace sumwire::gpu {

inline constexpr std::size_t carve_alignment = 64;

template <typename T>
constexpr std::size_t carved_bytes(std::size_t count) {
    return (count * sizeof(T) + carve_alignment - 1) / carve_alignment * carve_alignment;
}

// Takes the next array off the front of `memory`.
template <typename T>
std::span<T> carve(std::span<std::byte>& memory, std::size_t count) {
    const std::span<std::byte> piece = memory.first(carved_bytes<T>(count));
    memory = memory.subspan(piece.size());
    return {reinterpret_cast<T*>(piece.data()), count};
}

}  // namespace sumwire::gpu
