#include "switch_emu/slot_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "switch_emu/combine.h"

namespace sumwire::aggregator {
namespace {

constexpr std::size_t word_bits = 64;

constexpr std::uint64_t bit(std::uint16_t rank) {
    return std::uint64_t{1} << (rank % word_bits);
}

}  // namespace

std::size_t SlotGeometry::memory_bytes() const {
    // Rank 0 never waits. One version of a slot at a time is incomplete, so both share the room.
    const std::size_t held = float_sums ? world_size - 1U : 0U;
    return std::size_t{slots} * payload_bytes * (2 + held);
}

SlotTable::SlotTable(const SlotGeometry& geometry)
    : geometry_(geometry),
      bitmap_words_((geometry.world_size + word_bits - 1) / word_bits),
      uses_(std::size_t{geometry.slots} * 2),
      bitmaps_(uses_.size() * bitmap_words_),
      memory_(geometry.memory_bytes()) {}

Arrival SlotTable::accept(const nic::Header& header, std::span<const std::byte> payload) {
    const std::size_t at = index(header.slot, header.slot_version);
    Use& use = uses_[at];
    if (!use.used || header.sequence != use.sequence) {
        if (use.used && !nic::is_after(header.sequence, use.sequence)) return Arrival::stale;
        if (!settled(use) || !settled(uses_[at ^ 1])) return Arrival::premature;
        if (!fits(header.op, payload.size())) return Arrival::unfit;
        use = {.sequence = header.sequence,
               .length = static_cast<std::uint16_t>(payload.size()),
               .op = header.op,
               .used = true,
               .dissent = {}};
        std::fill_n(ranks(at), bitmap_words_, 0);
    } else if (header.op != use.op || payload.size() != use.length) {
        use.dissent = {.rank = header.rank,
                       .length = static_cast<std::uint16_t>(payload.size()),
                       .op = header.op};
        return Arrival::contradiction;
    }

    std::uint64_t& word = ranks(at)[header.rank / word_bits];
    if ((word & bit(header.rank)) != 0) {
        return settled(use) ? Arrival::duplicate_complete : Arrival::duplicate_partial;
    }
    if (nic::adds_in_rank_order(use.op)) {
        add_in_rank_order(use, at, header.slot, header.rank, payload);
    } else {
        add(use, at, payload);
    }
    word |= bit(header.rank);
    ++use.present;
    return settled(use) ? Arrival::completed : Arrival::combined;
}

bool SlotTable::fits(nic::Op op, std::size_t length) const {
    if (op == nic::Op::none || length > geometry_.payload_bytes) return false;
    if (nic::adds_in_rank_order(op) && !geometry_.float_sums) return false;
    return length % nic::element_bytes(op) == 0;
}

std::byte* SlotTable::held(std::uint16_t slot, std::uint16_t rank) const {
    const std::size_t sums = uses_.size();
    const std::size_t place = std::size_t{slot} * (geometry_.world_size - 1U) + (rank - 1U);
    return memory_.data() + (sums + place) * geometry_.payload_bytes;
}

void SlotTable::add(const Use& use, std::size_t use_index, std::span<const std::byte> payload) {
    if (use.present == 0) {
        std::ranges::copy(payload, sum(use_index));
    } else {
        combine(use.op, {sum(use_index), use.length}, payload);
    }
}

void SlotTable::add_in_rank_order(Use& use, std::size_t use_index, std::uint16_t slot,
                                  std::uint16_t rank, std::span<const std::byte> payload) {
    if (rank != use.folded) {
        std::ranges::copy(payload, held(slot, rank));
        return;
    }
    const std::span<std::byte> total(sum(use_index), use.length);
    if (rank == 0) {
        std::ranges::copy(payload, total.begin());
    } else {
        combine(use.op, total, payload);
    }
    ++use.folded;
    const std::uint64_t* arrived = ranks(use_index);
    while (use.folded < geometry_.world_size &&
           (arrived[use.folded / word_bits] & bit(use.folded)) != 0) {
        combine(use.op, total, {held(slot, use.folded), use.length});
        ++use.folded;
    }
}

std::span<const std::byte> SlotTable::result(std::uint16_t slot, bool version) const {
    const std::size_t at = index(slot, version);
    return {sum(at), uses_[at].length};
}

std::uint16_t SlotTable::present(std::uint16_t slot, bool version) const {
    return uses_[index(slot, version)].present;
}

std::uint16_t SlotTable::lowest_missing(std::uint16_t slot, bool version) const {
    const std::uint64_t* arrived = ranks(index(slot, version));
    std::size_t word = 0;
    while (word < bitmap_words_ && arrived[word] == ~std::uint64_t{0})
        ++word;
    const std::size_t in_word = word < bitmap_words_ ? std::countr_one(arrived[word]) : 0;
    return static_cast<std::uint16_t>(word * word_bits + in_word);
}

bool SlotTable::has(std::uint16_t slot, bool version, std::uint16_t rank) const {
    return (ranks(index(slot, version))[rank / word_bits] & bit(rank)) != 0;
}

std::optional<std::uint16_t> SlotTable::other_present(std::uint16_t slot, bool version,
                                                      std::uint16_t rank) const {
    for (std::uint16_t other = 0; other < geometry_.world_size; ++other) {
        if (other != rank && has(slot, version, other)) return other;
    }
    return std::nullopt;
}

bool SlotTable::awaits(std::uint16_t rank) const {
    for (std::size_t at = 0; at < uses_.size(); ++at) {
        if (!settled(uses_[at]) && (ranks(at)[rank / word_bits] & bit(rank)) == 0) return true;
    }
    return false;
}

}  // namespace sumwire::aggregator
