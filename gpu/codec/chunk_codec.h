// How one chunk of a gradient becomes messages that an aggregator can combine, and becomes the sum.
//
// A chunk travels in rounds. In each round every rank hands over the same number of messages with
// the same sizes and combine operations; the network replaces each message's bytes by the
// combination over all ranks; the next round starts from there. Sizes depend only on the chunk's
// element count, the configuration and what earlier rounds returned, so all ranks agree on them
// without asking.
//
//   dense   f32       values
//   dense   fixed32   scale | values
//   dense   exact     ranges | values
//   packed  f32       blocks | index | values
//   packed  fixed32   blocks, scale | index | values
//   packed  exact     blocks | index, ranges | values
//   sketch  fixed32   scale | index, sketch          where the chunk's last union is known
//                     scale, index | sketch          otherwise
//   sketch  exact     index, ranges | sketch
//   any sketch whose peeling stalls: one further round with the values that inactivation requests
//   other types, and minima and maxima    elements
//
// A round without a message is left out: of packed, the index where all blocks are full or empty.
//
// Layouts, little endian:
//   blocks    which blocks of 32 elements are occupied, and which are full (block_index.h)
//   index     bitmap: bit i % 8 of byte i / 8 says that element i is non-zero on some rank; padded
//             with zero bits to 32-bit words; packed: of the blocks that are neither full nor
//             empty. f32 and int32 count -0.0, the other arithmetics do not. A sketch whose union
//             is known to be small has a Bloom filter instead (bloom_index.h).
//   ranges    two bytes for each block (packed: for each that is occupied), padded to 32-bit words
//             (exact.h)
//   scale     one word whose low byte says how large the largest value is (fixed32.h)
//   values    32-bit words: floats (f32), integers (fixed32), digits (exact.h)
//   sketch    count sketch of those words, modulo 2^32 (count_sketch.h)
//   elements  as they are, or mapped to unsigned integers of the same order (element_codec.cpp)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "gpu/data_type.h"
#include "gpu/device.h"

namespace sumwire::gpu {

enum class Codec : std::uint8_t { dense, packed, sketch };

enum class Arithmetic : std::uint8_t {
    exact,   // the correctly rounded sum in real arithmetic; a zero sum is +0
    f32,     // the float32 sum in rank order, bit for bit; not with Codec::sketch
    fixed32  // error at most world size * half a unit of the chunk's scale (fixed32.h)
};

enum class Reduction : std::uint8_t {
    sum,      // of integers modulo 2^32 or 2^64
    average,  // the sum divided by the world size; exact: rounded once, after the division; of
              // integers towards zero
    minimum,  // -0.0 is below +0.0; NaN if any rank has one
    maximum
};

constexpr bool is_extremum(Reduction reduction) {
    return reduction == Reduction::minimum || reduction == Reduction::maximum;
}

// On little-endian elements of the size in the name.
enum class Combine : std::uint8_t {
    bit_or,
    add_i32,
    add_i64,
    add_f32,  // in rank order
    add_f64,  // in rank order
    max_u8,
    max_u16,
    max_u32,
    max_u64
};

// Elements of a full chunk. Fixed: every rank must cut alike.
inline constexpr std::uint32_t chunk_elements = 65536;

struct CodecConfig {
    Codec codec = Codec::packed;
    Arithmetic arithmetic = Arithmetic::exact;
    std::uint32_t world_size = 1;
    DataType type = DataType::f32;
    bool extrema = false;  // for minima and maxima; otherwise for sums and averages
    // Every message is Combine::add_i32, for networks that do nothing else: sums in fixed32, or of
    // i32, of at most 255 ranks. Ors and maxima travel as counters (counters.h).
    bool sums_only = false;
};

// This rank's contribution on hand-over, the aggregate on return; a multiple of 4 bytes.
struct Message {
    Combine combine{};
    std::span<std::byte> bytes;
};

struct ChunkTask {
    // In: this rank's values. Out: the result, written only when the chunk is done, so that a chunk
    // whose exchange fails is untouched and can be begun again. Aligned as the type asks.
    void* values = nullptr;
    std::uint32_t count = 0;  // 1 to chunk_elements
    Reduction reduction = Reduction::sum;
    std::uint64_t seed = 0;  // the same on all ranks, different for every chunk and all_reduce
    // Union elements of this chunk in the last step, the same on all ranks; unknown_union at first.
    std::uint32_t expected_union = 0;

    static constexpr std::uint32_t unknown_union = UINT32_MAX;
};

enum class Progress : std::uint8_t {
    exchange,  // messages() wait to be combined
    done,      // the result is in place
    // What came back contradicts itself (an index without its values, a sketch that no values
    // explain). Never happens between honest peers; the values are untouched.
    inconsistent
};

// The state of one chunk under way. Reused for chunk after chunk; never allocates after
// construction unless a chunk's exponent range is so wide that its fields outgrow the payload
// memory. One thread at a time. Decoding never reads or writes out of bounds, whatever comes back.
class ChunkCodec {
  public:
    virtual ~ChunkCodec() = default;
    ChunkCodec(const ChunkCodec&) = delete;
    ChunkCodec& operator=(const ChunkCodec&) = delete;

    // Starts a chunk: encodes the first round. Always returns Progress::exchange.
    virtual Progress begin(const ChunkTask& task) = 0;
    // Goes on after the messages of the current round were replaced by their combinations.
    virtual Progress advance() = 0;

    // The messages of the current round, at least one, at most max_messages.
    virtual std::span<const Message> messages() const = 0;
    static constexpr std::size_t max_messages = 2;
    static constexpr unsigned max_rounds = 3;

    // After Progress::done: elements in the union of all ranks' non-zeros, as far as the codec
    // knows; otherwise the count.
    virtual std::uint32_t union_size() const = 0;
    // After Progress::done: whether the peeling needed the extra round.
    virtual bool stalled() const = 0;

    // Where messages normally lie, for registration with a port; a chunk with very wide fields may
    // have messages elsewhere.
    virtual std::span<std::byte> payload_memory() = 0;

  protected:
    ChunkCodec() = default;
};

// bfloat16 and float16 are summed as floats and rounded once. Sums of f64, i64, and extrema take
// neither codec nor arithmetic into account; sums of i32 no arithmetic.
//
// Throws std::invalid_argument, with the remedy, for a sketch of f32 or i32, for a world size of 0
// or above 1024, and for sums_only of what needs more than integer sums.
std::unique_ptr<ChunkCodec> make_chunk_codec(Device& device, const CodecConfig& config);

}  // namespace sumwire::gpu
