#include "apps/bench/reference.h"

#include "apps/support/reference_sum.h"

namespace sumwire::apps {

ExpectedSums Reference::of(gpu::Arithmetic arithmetic) {
    if (arithmetic == gpu::Arithmetic::f32) {
        if (rank_order_.empty()) rank_order_ = rank_order_reference(set_.ranks, ReferenceOp::sum);
        return {.values = rank_order_, .bounds = {}};
    }
    if (exact_.empty()) exact_ = exact_reference(set_.ranks, ReferenceOp::sum);
    if (arithmetic == gpu::Arithmetic::exact) return {.values = exact_, .bounds = {}};
    if (bounds_.empty())
        bounds_ = fixed32_bounds(set_.ranks, ReferenceOp::sum, gpu::chunk_elements);
    return {.values = exact_, .bounds = bounds_};
}

}  // namespace sumwire::apps
