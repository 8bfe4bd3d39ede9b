// The texts of refused joins: cause and remedy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nic/control.h"
#include "nic/endpoint.h"
#include "switch_emu/answers.h"
#include "switch_emu/slot_table.h"

namespace sumwire::aggregator {

// What is wrong with a join whatever else runs; empty if nothing is.
struct Objection {
    nic::Refusal code{};
    std::string text;
};
std::optional<Objection> object_to(const JoinRef& ref, const nic::Join& join);

std::string world_size_text(const nic::Join& join, std::uint16_t world_size);
std::string rank_taken_text(const nic::Join& join, const nic::Endpoint& holder);
std::string too_many_jobs_text(std::uint16_t jobs);
std::string no_memory_text(const std::string& job, const SlotGeometry& geometry,
                           std::size_t free_bytes);

}  // namespace sumwire::aggregator
