// The slots of one job: the datapath's rule and the sums, without addresses or membership.
//
// Every slot has two versions. Each holds one use at a time: the combination of one payload of
// every rank, named by its sequence number. What a contribution means follows from its sequence:
//
//   the use's own         a further rank, or a rank for the second time
//   after the use's       a new use. Since honest ranks go on only when the last use is complete in
//                         both versions, it is taken only then, else it is premature.
//   before the use's      stale: a retransmission that was long under way
//
// The first arrival of a use fixes op and length; others that differ are contradictions. Nothing
// stale, premature or contradictory changes a sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nic/wire.h"
#include "switch_emu/slot_memory.h"

namespace sumwire::aggregator {

struct SlotGeometry {
    std::uint16_t world_size = 1;      // 1 to nic::max_world_size
    std::uint16_t slots = 1;           // 1 to nic::max_slots
    std::uint16_t payload_bytes = 64;  // largest; multiple of 64
    // Ops that add in rank order may be used: every slot has room for the payloads of ranks that
    // come too early.
    bool float_sums = false;

    std::size_t memory_bytes() const;
};

enum class Arrival : std::uint8_t {
    combined,            // taken; other ranks are missing
    completed,           // taken; it was the last
    duplicate_partial,   // this rank again; other ranks are missing
    duplicate_complete,  // this rank again; the result is there
    stale,
    premature,     // an earlier use is not complete yet
    unfit,         // no use may have this op or length
    contradiction  // others sent another op or length to the same use
};

struct Dissent {
    std::uint16_t rank = 0;
    std::uint16_t length = 0;
    nic::Op op = nic::Op::none;
};

class SlotTable {
  public:
    // Throws std::bad_alloc.
    explicit SlotTable(const SlotGeometry& geometry);

    // Rank and slot must be in range; sizes and ops are checked. Never allocates.
    Arrival accept(const nic::Header& header, std::span<const std::byte> payload);

    // Of the current use. The result holds after completed and duplicate_complete, until the use
    // that follows the next one.
    std::span<const std::byte> result(std::uint16_t slot, bool version) const;
    std::uint16_t present(std::uint16_t slot, bool version) const;
    std::uint16_t lowest_missing(std::uint16_t slot, bool version) const;
    bool has(std::uint16_t slot, bool version, std::uint16_t rank) const;
    // What the use's ranks agreed on so far.
    nic::Op op(std::uint16_t slot, bool version) const { return uses_[index(slot, version)].op; }
    std::uint16_t length(std::uint16_t slot, bool version) const {
        return uses_[index(slot, version)].length;
    }
    // The last contribution that contradicted it, if one did.
    const std::optional<Dissent>& dissent(std::uint16_t slot, bool version) const {
        return uses_[index(slot, version)].dissent;
    }
    // The lowest rank but this one that the use has, if any.
    std::optional<std::uint16_t> other_present(std::uint16_t slot, bool version,
                                               std::uint16_t rank) const;

    // An incomplete use lacks this rank.
    bool awaits(std::uint16_t rank) const;

  private:
    struct Use {
        std::uint32_t sequence = 0;
        std::uint16_t length = 0;
        std::uint16_t present = 0;
        std::uint16_t folded = 0;  // adding in rank order: ranks 0 to folded - 1 are in
        nic::Op op = nic::Op::none;
        bool used = false;
        std::optional<Dissent> dissent;
    };

    static std::size_t index(std::uint16_t slot, bool version) {
        return std::size_t{slot} * 2 + (version ? 1 : 0);
    }
    bool settled(const Use& use) const { return !use.used || use.present == geometry_.world_size; }
    bool fits(nic::Op op, std::size_t length) const;
    std::uint64_t* ranks(std::size_t use) { return bitmaps_.data() + use * bitmap_words_; }
    const std::uint64_t* ranks(std::size_t use) const {
        return bitmaps_.data() + use * bitmap_words_;
    }
    std::byte* sum(std::size_t use) const { return memory_.data() + use * geometry_.payload_bytes; }
    std::byte* held(std::uint16_t slot, std::uint16_t rank) const;

    void add(const Use& use, std::size_t use_index, std::span<const std::byte> payload);
    void add_in_rank_order(Use& use, std::size_t use_index, std::uint16_t slot, std::uint16_t rank,
                           std::span<const std::byte> payload);

    SlotGeometry geometry_;
    std::size_t bitmap_words_;
    std::vector<Use> uses_;
    std::vector<std::uint64_t> bitmaps_;
    SlotMemory memory_;  // sums of all uses, then the held payloads of all slots
};

}  // namespace sumwire::aggregator
