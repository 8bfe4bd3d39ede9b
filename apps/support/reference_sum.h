// What sums must come out as, computed independently of the library's codecs: the arithmetic here
// shares no code with it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sumwire/communicator.h"

namespace sumwire::apps {

// Elements that share a scale in fixed32, as communicator.h tells.
inline constexpr std::size_t fixed32_chunk_elements = 65536;

// Each rank's values, all of one length; one rank at least.
using RankValues = std::span<const std::vector<float>>;

// The correctly rounded sum or average in real arithmetic; a sum of zero is +0; infinities as a
// float sum would give them, and one quiet NaN for every NaN.
std::vector<float> exact_reference(RankValues ranks, ReduceOp op);

// The float32 sum in rank order: ((x0 + x1) + x2) + ...; divided by the number of ranks for
// average.
std::vector<float> rank_order_reference(RankValues ranks, ReduceOp op);

// The least or the greatest value, -0 below +0; one quiet NaN if any rank has one.
std::vector<float> extremum_reference(RankValues ranks, ReduceOp op);

// The largest distance between a fixed32 sum or average and exact_reference in each chunk of
// `chunk_elements`: each rank's value may be off by half a unit of the chunk's scale, which is what
// 32 bits leave for the largest magnitude and the carries of all ranks; and both results are
// rounded to float. Infinity where some rank has a NaN or an infinity.
std::vector<double> fixed32_bounds(RankValues ranks, ReduceOp op, std::size_t chunk_elements);

}  // namespace sumwire::apps
