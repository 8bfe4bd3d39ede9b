// The message that begins every collective: whether all ranks make the same call, and what the
// slowest of their links costs.
//
// Bytes, combined by maximum: the call (kind, type, reduction, codec, arithmetic, then count and tag
// of eight bytes each, little endian), each byte of it inverted, and the link costs. Where the
// maximum of a byte and that of its inverse do not make 255, ranks differ.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "runtime/engine/link_costs.h"
#include "runtime/engine/operation.h"

namespace sumwire::runtime {

inline constexpr std::size_t call_bytes = 5 + 8 + 8;
inline constexpr std::size_t agreement_bytes = 2 * call_bytes + 2;  // a multiple of four
using AgreementMessage = std::array<std::byte, agreement_bytes>;

AgreementMessage write_agreement(const CollectiveCall& call, const LinkCosts& costs);

// In what the ranks' calls differ, for an error message; empty if in nothing.
std::string difference_of(const AgreementMessage& combined);
// Of the slowest link.
LinkCosts costs_of(const AgreementMessage& combined);

std::string describe(const CollectiveCall& call);

}  // namespace sumwire::runtime
