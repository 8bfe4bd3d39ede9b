// Adds one rank's payload to a slot.
#pragma once

#include <cstddef>
#include <span>

#include "nic/wire.h"

namespace sumwire::aggregator {

// Replaces `into` by the combination of `into` (the earlier ranks) and `from`. Equal sizes, a
// multiple of nic::element_bytes; any alignment; no overlap. Elements are little endian.
// Op::none does nothing.
void combine(nic::Op op, std::span<std::byte> into, std::span<const std::byte> from);

}  // namespace sumwire::aggregator
