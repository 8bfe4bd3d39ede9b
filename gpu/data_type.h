// What elements of a tensor are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sumwire::gpu {

enum class DataType : std::uint8_t { f32, bf16, f16, f64, i32, i64 };

constexpr bool is_integer(DataType type) {
    return type == DataType::i32 || type == DataType::i64;
}

constexpr std::size_t size_of(DataType type) {
    switch (type) {
        case DataType::bf16:
        case DataType::f16:
            return 2;
        case DataType::f32:
        case DataType::i32:
            return 4;
        case DataType::f64:
        case DataType::i64:
            return 8;
    }
    return 0;
}

}  // namespace sumwire::gpu
