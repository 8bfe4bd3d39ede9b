// The least an aggregator must do: combine two arrays. The yardstick for the real one.
#pragma once

#include <cstddef>
#include <span>

#include "nic/wire.h"

namespace sumwire::apps {

// accumulator = accumulator op payload, both of the same size, a multiple of the op's elements.
void plain_combine(nic::Op op, std::span<std::byte> accumulator,
                   std::span<const std::byte> payload);

}  // namespace sumwire::apps
