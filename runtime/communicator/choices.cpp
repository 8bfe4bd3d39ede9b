#include "runtime/communicator/choices.h"

#include "sumwire/errors.h"

namespace sumwire::runtime {

std::optional<gpu::Codec> to_gpu(Codec codec) {
    switch (codec) {
        case Codec::dense:
            return gpu::Codec::dense;
        case Codec::packed:
            return gpu::Codec::packed;
        case Codec::sketch:
            return gpu::Codec::sketch;
        case Codec::automatic:
            return std::nullopt;
    }
    throw SetupError("unknown codec: use Codec::automatic, dense, packed or sketch");
}

gpu::Arithmetic to_gpu(Arithmetic arithmetic) {
    switch (arithmetic) {
        case Arithmetic::exact:
            return gpu::Arithmetic::exact;
        case Arithmetic::f32:
            return gpu::Arithmetic::f32;
        case Arithmetic::fixed32:
            return gpu::Arithmetic::fixed32;
    }
    throw SetupError("unknown arithmetic: use Arithmetic::exact, f32 or fixed32");
}

gpu::DataType to_gpu(DataType type) {
    switch (type) {
        case DataType::f32:
            return gpu::DataType::f32;
        case DataType::bf16:
            return gpu::DataType::bf16;
        case DataType::f16:
            return gpu::DataType::f16;
        case DataType::f64:
            return gpu::DataType::f64;
        case DataType::i32:
            return gpu::DataType::i32;
        case DataType::i64:
            return gpu::DataType::i64;
    }
    throw SetupError("unknown data type: use DataType::f32, bf16, f16, f64, i32 or i64");
}

gpu::Reduction to_gpu(ReduceOp op) {
    switch (op) {
        case ReduceOp::sum:
            return gpu::Reduction::sum;
        case ReduceOp::average:
            return gpu::Reduction::average;
        case ReduceOp::minimum:
            return gpu::Reduction::minimum;
        case ReduceOp::maximum:
            return gpu::Reduction::maximum;
    }
    throw SetupError("unknown reduction: use ReduceOp::sum, average, minimum or maximum");
}

}  // namespace sumwire::runtime
