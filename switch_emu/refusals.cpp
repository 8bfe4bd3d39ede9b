#include "switch_emu/refusals.h"

#include <fmt/format.h>

#include <algorithm>

namespace sumwire::aggregator {
namespace {

bool has_control_characters(const std::string& text) {
    return std::ranges::any_of(text, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7f;
    });
}

}  // namespace

std::optional<Objection> object_to(const JoinRef& ref, const nic::Join& join) {
    if (ref.rank != join.rank || has_control_characters(join.job)) {
        return Objection{nic::Refusal::malformed,
                         "the join contradicts itself or its job name has control characters: use "
                         "the same Sumwire version everywhere and a printable job name"};
    }
    if (join.world_size == 0 || join.world_size > nic::max_world_size ||
        join.rank >= join.world_size) {
        return Objection{
            nic::Refusal::rank_range,
            fmt::format("rank {} of world size {}: the world size must be 1 to {}, and ranks "
                        "count from 0 to one less",
                        join.rank, join.world_size, nic::max_world_size)};
    }
    if (join.payload_bytes == 0 || join.payload_bytes % 64 != 0) {
        return Objection{nic::Refusal::payload,
                         fmt::format("a payload of {} bytes: choose a multiple of 64, at least 64",
                                     join.payload_bytes)};
    }
    if (join.peer_timeout_ms < nic::min_peer_timeout_ms) {
        return Objection{
            nic::Refusal::peer_timeout,
            fmt::format("a peer timeout of {} ms: choose at least {} ms, so that a few "
                        "lost heartbeats do not end the job",
                        join.peer_timeout_ms, nic::min_peer_timeout_ms)};
    }
    return std::nullopt;
}

std::string world_size_text(const nic::Join& join, std::uint16_t world_size) {
    return fmt::format(
        "job '{}' has world size {}, rank {} joined with {}: start every rank with the same world "
        "size, or take another job name",
        join.job, world_size, join.rank, join.world_size);
}

std::string rank_taken_text(const nic::Join& join, const nic::Endpoint& holder) {
    return fmt::format(
        "rank {} of job '{}' is held by a live process at {}: give every process its own rank, or "
        "take another job name",
        join.rank, join.job, nic::to_string(holder));
}

std::string too_many_jobs_text(std::uint16_t jobs) {
    return fmt::format(
        "the aggregator is full with {} jobs: wait until one has ended, or start the aggregator "
        "with a higher --jobs",
        jobs);
}

std::string no_memory_text(const std::string& job, const SlotGeometry& geometry,
                           std::size_t free_bytes) {
    constexpr std::size_t kib = 1024;
    return fmt::format(
        "job '{}' needs {} KiB for {} slots of {} bytes{}, {} KiB are free: ask for fewer slots{}, "
        "or start the aggregator with more --memory",
        job, geometry.memory_bytes() / kib, geometry.slots, geometry.payload_bytes,
        geometry.float_sums ? " and float sums" : "", free_bytes / kib,
        geometry.float_sums ? " or other arithmetic than f32" : "");
}

}  // namespace sumwire::aggregator
