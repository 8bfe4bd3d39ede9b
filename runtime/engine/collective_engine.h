// Runs collectives: cuts tensors into chunks, moves each chunk through its codec's rounds, and puts
// the rounds' messages on the session's lanes.
//
// Each collective begins with an agreement: a message of its own that tells whether all ranks make
// the same call. It travels as if it were the collective's first chunk.
//
// Round r of every chunk travels on lane r. Within a lane, messages stand in the order of chunks
// whatever chunk gets there first, because that order is what all ranks agree on.
// Pure apart from the codecs' work: no I/O, no clock. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nic/time.h"
#include "runtime/engine/agreement.h"
#include "runtime/engine/codec_pool.h"
#include "runtime/engine/lagged.h"
#include "runtime/engine/link_costs.h"
#include "runtime/engine/operation.h"
#include "runtime/engine/union_history.h"
#include "runtime/session/worker_session.h"

namespace sumwire::runtime {

struct EngineCounters {
    std::uint64_t chunks = 0;
    std::uint64_t stalled_chunks = 0;
    std::array<std::uint64_t, 3> chunks_by_codec{};  // by gpu::Codec
};

class CollectiveEngine {
  public:
    // Chunks under way at most; each lane must hold as many messages as they can have.
    static constexpr std::size_t max_chunks = 32;
    static constexpr std::size_t max_messages = max_chunks * gpu::ChunkCodec::max_messages;
    static_assert(gpu::ChunkCodec::max_rounds <= WorkerSession::lane_count);

    // All must outlive the engine. The session must be running and hold max_messages per lane.
    CollectiveEngine(gpu::Device& device, nic::PacketPort& port, WorkerSession& session,
                     std::uint32_t world_size);

    // Queues an operation. Its memory belongs to the engine until its completion.
    void submit(Operation operation);

    // What this rank's link costs now; the slowest rank's is what codecs are chosen by.
    void set_link_costs(const LinkCosts& costs) { own_costs_ = costs; }

    // Does a bounded piece of work (one chunk's step at most); false if there was nothing to do.
    // Throws ProtocolError if what came back contradicts itself, or if ranks call different
    // collectives.
    bool advance();

    bool idle() const { return operations_.empty(); }
    // The earliest deadline among the operations under way, and how that operation is called.
    Time next_deadline() const;
    std::string describe_oldest() const;

    // Ends every operation with this failure. The engine must not be advanced afterwards.
    void fail_all(const std::exception_ptr& failure);

    const EngineCounters& counters() const { return counters_; }

  private:
    using History = UnionHistory<max_chunks>;

    struct ActiveOperation {
        Operation operation;
        std::uint64_t number = 0;
        std::size_t chunks = 0;  // the agreement among them
        std::size_t next_chunk = 0;
        std::size_t chunks_done = 0;
        bool agreed = false;
        History::Tensor* history = nullptr;
    };

    struct Chunk {
        enum class State : std::uint8_t { posting, exchanging, ready, done };
        State state = State::done;
        bool measures = false;  // what the chunk's or the link's next costs are
        unsigned round = 0;
        unsigned messages_left = 0;
        std::uint64_t operation = 0;         // its number
        std::size_t index = 0;               // within the operation; 0: the agreement
        std::unique_ptr<PooledCodec> codec;  // null: the agreement
        AgreementMessage agreement{};
    };

    Chunk& chunk(std::uint64_t number) { return chunks_[number % max_chunks]; }
    ActiveOperation& operation(std::uint64_t number);

    bool take_completions();
    std::optional<std::uint64_t> take_ready();
    bool step_ready_chunk();
    bool start_chunk();
    void start_agreement(ActiveOperation& active, Chunk& started);
    void start_data(ActiveOperation& active, Chunk& started);
    gpu::Codec codec_of(const ActiveOperation& active, std::uint32_t count,
                        const ChunkFacts& facts);
    void check_agreement(const Chunk& agreed);
    void note_union(ActiveOperation& active, const Chunk& finished);
    bool post_messages();
    void post(std::uint64_t number, Chunk& chunk);
    void finish_chunk(Chunk& chunk);
    bool retire();

    CodecPool codecs_;
    WorkerSession& session_;
    History history_;
    LinkCosts own_costs_;
    Lagged<LinkCosts, max_chunks> costs_;
    EngineCounters counters_;

    std::deque<ActiveOperation> operations_;  // in order of number, oldest first
    std::uint64_t next_operation_ = 0;
    std::size_t starting_ = 0;  // index of the operation whose chunks start next

    // A ring: chunks numbered from oldest_ to started_, over all operations.
    std::vector<Chunk> chunks_;
    std::uint64_t oldest_ = 0;
    std::uint64_t started_ = 0;
    std::array<std::uint64_t, WorkerSession::lane_count> lane_next_{};
    std::vector<std::uint64_t> ready_;  // a ring of chunk numbers
    std::size_t ready_head_ = 0;
    std::size_t ready_count_ = 0;
};

}  // namespace sumwire::runtime
