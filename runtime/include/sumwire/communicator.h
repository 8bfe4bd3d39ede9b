// Sumwire's public C++ interface: sums gradients over all ranks of a job.
//
// Every rank creates one Communicator of the same job and world size, and calls the same
// collectives, with the same counts and options, in the same order. Every rank ends with the same
// bits, in every run.
//
// Inside the caller's process the library is a guest: it starts one progress thread per
// communicator, installs no signal handlers, never exits or aborts, and never writes to standard
// output. Several communicators in one process work.
//
// Threads: all_reduce, barrier and the queries may be called from any thread; the order of calls is
// the order of collectives, so callers on several threads must agree on it over all ranks.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sumwire/errors.h"

namespace sumwire {

enum class DataType : std::uint8_t { f32, bf16, f16, f64, i32, i64 };

enum class ReduceOp : std::uint8_t {
    sum,      // integers wrap
    average,  // the sum divided by the world size; of integers rounded towards zero
    minimum,  // -0.0 is below +0.0; NaN where any rank has one
    maximum
};

// How a chunk of 65,536 elements travels. All give the same result, bit for bit, in `exact`
// arithmetic. Sums of f64 and i64, minima and maxima are always dense.
enum class Codec : std::uint8_t {
    dense,     // every element: one round trip, two with exact and fixed32
    packed,    // which elements are non-zero first, then the values that some rank has
    sketch,    // index and count sketch: two round trips once the sparsity is known
    automatic  // whichever takes the least time, chunk by chunk, as far as the last steps tell
};

// How f32, bf16 and f16 are summed; bf16 and f16 are rounded once, at the end. Sums of f64 are
// float64 sums in rank order.
enum class Arithmetic : std::uint8_t {
    // The correctly rounded sum in real arithmetic, whatever the order: NaN where any rank has one
    // or infinities of both signs meet, +0.0 where the sum is zero. Values that differ by large
    // powers of two within 32 neighbours cost more bytes.
    exact,
    f32,  // the float32 sum in rank order; not with Codec::sketch
    // 32-bit fixed point: before the result is rounded to float, a sum is off by at most
    // world size * 2^-(30 - ceil(log2(world size))) times the largest power of two not above the
    // largest magnitude in the chunk of 65,536 elements (at least 2^-126). A NaN or infinity makes
    // its whole chunk NaN.
    fixed32
};

// What the progress thread does while it has nothing to do.
enum class Polling : std::uint8_t {
    automatic,  // as yield, but spins first where every polling thread can have a core
    spin,       // never gives its core away, also while no operation is under way
    yield,      // gives its core to whoever can run; takes short naps when it waits long
    sleep       // naps at once, up to 1 ms: least CPU time, later answers
};

enum class LogLevel : std::uint8_t { info, warning };

struct Options {
    // -1: from the launcher's environment: RANK and WORLD_SIZE (torchrun), Open MPI's or Slurm's.
    int rank = -1;
    int world_size = -1;

    // "host:port" of the aggregator (port 21335 if absent). Empty: $SUMWIRE_AGGREGATOR; if that is
    // empty too, rank 0 embeds an aggregator on UDP port $MASTER_PORT (21335 if unset), and the
    // others find it at $MASTER_ADDR (127.0.0.1 if unset; on a loopback address it serves this
    // machine only). Jobs whose rank 0 is in one process share the embedded aggregator, if their
    // ports are the same; their names must differ.
    std::string aggregator;
    // Ranks of one job share the name; jobs of different names share an aggregator. 1 to 63 bytes.
    // Empty: $SUMWIRE_JOB, else "default".
    std::string job;
    // How packets travel: "udp", "inproc:NAME", "dpdk:DEVICE;ip=..."; empty: $SUMWIRE_PORT, else
    // "udp".
    std::string port;

    Codec codec = Codec::automatic;
    Arithmetic arithmetic = Arithmetic::exact;

    Polling polling = Polling::automatic;
    // Bytes of data in a packet, a multiple of 64; 0: as the path's MTU allows. The smallest of all
    // ranks and the aggregator holds.
    std::size_t payload_bytes = 0;
    // Packets under way at most, a power of two from 8; the smallest of all ranks holds.
    unsigned slots = 1024;
    // Let single calls choose Arithmetic::f32 although `arithmetic` is another, or sum f64. The
    // aggregator then keeps memory for ranks that come early, so that it can add in rank order.
    bool float_sums = false;
    // Protect payloads by our own checksum too. Automatic where the port does not detect
    // corruption.
    bool checksums = false;

    // create: until every rank has joined.
    std::chrono::milliseconds join_timeout{30'000};
    // Each collective, from its call to its end. This and join_timeout may be as large as
    // milliseconds::max(), which never comes.
    std::chrono::milliseconds deadline{60'000};
    // A rank that is silent for this long counts as lost. The largest of all ranks holds. At most a
    // day.
    std::chrono::milliseconds peer_timeout{5'000};

    // Notes such as fallbacks. Called from any of the library's threads; must not throw. Empty:
    // warnings go to standard error, the rest nowhere.
    std::function<void(LogLevel, std::string_view)> log;
};

// What a single all_reduce may choose; all ranks must choose alike.
struct CallOptions {
    std::optional<Codec> codec = std::nullopt;            // the communicator's if empty
    std::optional<Arithmetic> arithmetic = std::nullopt;  // likewise
    // What is known of a tensor's non-zeros from the last step is kept by count and tag. Give
    // tensors of the same count that differ in sparsity different tags.
    std::uint64_t tag = 0;
};

// Counters of one communicator since creation.
struct Statistics {
    std::uint64_t wire_bytes_tx = 0;  // Ethernet, IPv4, UDP and Sumwire headers and payload
    std::uint64_t wire_bytes_rx = 0;
    std::uint64_t packets_tx = 0;
    std::uint64_t packets_rx = 0;
    std::uint64_t retransmissions = 0;
    std::uint64_t stalled_chunks = 0;  // sketches that needed the repair round
    std::uint64_t chunks = 0;
    std::uint64_t dense_chunks = 0;  // those that travelled dense, and so on
    std::uint64_t packed_chunks = 0;
    std::uint64_t sketch_chunks = 0;
};

// An operation under way. Copies refer to the same operation.
class Work {
  public:
    Work() = default;
    // Blocks until the operation has ended; throws what it failed with. Throws Error instead of
    // waiting in a callback of `then`, on which the end of operations depends.
    void wait() const;
    // False if it has not ended within the timeout; otherwise as wait.
    bool wait_for(std::chrono::nanoseconds timeout) const;
    bool done() const;  // ended, well or not
    // Calls `f` once the operation has ended: at once if it has, else from the progress thread,
    // which it must not block. `f` gets null, or the failure. What it throws goes no further,
    // whichever thread calls it: Options::log gets a warning, and other callbacks are called all
    // the same. `f` may close the communicator; the progress thread then ends by itself, before the
    // process exits.
    void then(std::function<void(std::exception_ptr)> f) const;

  private:
    friend class Communicator;
    struct State;
    explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

// Memory known to the communicator and registered with its port. Move-only; deregisters on
// destruction. Destroy it after the operations on it have ended; it may outlive the communicator.
class Buffer {
  public:
    Buffer();  // of nothing
    Buffer(Buffer&&) noexcept;
    Buffer& operator=(Buffer&&) noexcept;
    ~Buffer();

    void* data() const;
    std::size_t bytes() const;
    // Whether the library has locked it into memory: what allocate returned, unless the system's
    // memlock limit forbids it. The caller's own memory stays as the caller has it.
    bool pinned() const;

  private:
    friend class Communicator;
    struct Impl;
    explicit Buffer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

class Communicator {
  public:
    // Joins the job and returns when every rank has. Throws SetupError (with the remedy),
    // DeadlineExceeded (naming a missing rank), or, if one is lost again meanwhile, PeerLost or
    // AggregatorLost.
    static Communicator create(const Options& options);

    Communicator(Communicator&&) noexcept;
    Communicator& operator=(Communicator&&) noexcept;
    // Leaves the job. Operations under way fail. Where rank 0 embeds the aggregator, its destructor
    // goes on serving until the others have left, for peer_timeout at most; of several that share
    // one, the last does.
    ~Communicator();

    unsigned rank() const;
    unsigned world_size() const;

    // Registers the caller's memory, which must outlive the Buffer. Optional: all_reduce takes any
    // pointer and is as fast with it. Codecs read gradients where they are and write what travels
    // into memory of their own, so this version sends nothing from a Buffer.
    Buffer register_buffer(void* pointer, std::size_t bytes);
    // Allocates registered memory: 4 KiB aligned, zeroed, in huge pages where there are some, and
    // locked if possible: it saves the page faults of the first use.
    Buffer allocate(std::size_t bytes);

    // Replaces `count` elements at `pointer` by their sum or average over all ranks. Returns at
    // once; the memory must stay and not be touched until the Work has ended. Any count from 0 up,
    // any alignment of the element's size. Throws SetupError if the arguments are wrong, and
    // whatever ended the communicator if it is over. Work::wait throws ProtocolError if ranks call
    // different collectives, or the same with different arguments; no element is changed then.
    Work all_reduce(void* pointer, std::size_t count, DataType type = DataType::f32,
                    ReduceOp op = ReduceOp::sum, const CallOptions& call = {});

    // Returns when every rank has called it. Throws as Work::wait, also in a callback.
    void barrier();

    Statistics statistics() const;
    // One line: port, aggregator, payload, slots; says what is emulated.
    std::string description() const;

  private:
    struct Impl;
    explicit Communicator(std::unique_ptr<Impl> impl);
    Impl& impl() const;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sumwire
