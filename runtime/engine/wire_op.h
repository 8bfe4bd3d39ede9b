// The aggregator's operation for what a codec wants combined.
#pragma once

#include "gpu/codec/chunk_codec.h"
#include "nic/wire.h"

namespace sumwire::runtime {

constexpr nic::Op wire_op(gpu::Combine combine) {
    switch (combine) {
        case gpu::Combine::bit_or:
            return nic::Op::bit_or;
        case gpu::Combine::add_i32:
            return nic::Op::add_i32;
        case gpu::Combine::add_i64:
            return nic::Op::add_i64;
        case gpu::Combine::add_f32:
            return nic::Op::add_f32;
        case gpu::Combine::add_f64:
            return nic::Op::add_f64;
        case gpu::Combine::max_u8:
            return nic::Op::max_u8;
        case gpu::Combine::max_u16:
            return nic::Op::max_u16;
        case gpu::Combine::max_u32:
            return nic::Op::max_u32;
        case gpu::Combine::max_u64:
            return nic::Op::max_u64;
    }
    return nic::Op::none;
}

}  // namespace sumwire::runtime
