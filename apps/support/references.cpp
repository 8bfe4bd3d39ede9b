#include "apps/support/references.h"

namespace sumwire::apps {

ExpectedSums References::of(Arithmetic arithmetic) {
    if (op_ == ReduceOp::minimum || op_ == ReduceOp::maximum) {
        if (!exact_) exact_ = extremum_reference(gradients_, op_);
        return {.values = *exact_, .bounds = {}};
    }
    if (arithmetic == Arithmetic::f32) {
        if (!rank_order_) rank_order_ = rank_order_reference(gradients_, op_);
        return {.values = *rank_order_, .bounds = {}};
    }
    if (!exact_) exact_ = exact_reference(gradients_, op_);
    if (arithmetic == Arithmetic::exact) return {.values = *exact_, .bounds = {}};
    if (!bounds_) bounds_ = fixed32_bounds(gradients_, op_, fixed32_chunk_elements);
    return {.values = *exact_, .bounds = *bounds_};
}

}  // namespace sumwire::apps
