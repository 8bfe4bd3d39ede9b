#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "sumwire/communicator.h"
#include "sumwire/sumwire.h"

struct sumwire_comm {
    sumwire::Communicator communicator;
    sumwire_codec codec;
    sumwire_arithmetic arithmetic;
};
struct sumwire_buffer {
    sumwire::Buffer buffer;
};
struct sumwire_work {
    sumwire::Work work;
};

namespace {

thread_local std::string last_message;
thread_local int last_lost_rank = -1;

sumwire_status failed(sumwire_status status, const char* message, int lost_rank = -1) {
    last_lost_rank = lost_rank;
    try {
        last_message = message;
    } catch (const std::bad_alloc&) {
        last_message.clear();
    }
    return status;
}

// Runs f and turns what it throws into a status.
template <class F>
sumwire_status guarded(F&& f) {
    try {
        std::forward<F>(f)();
        return SUMWIRE_OK;
    } catch (const sumwire::SetupError& error) {
        return failed(SUMWIRE_SETUP_ERROR, error.what());
    } catch (const sumwire::PeerLost& error) {
        return failed(SUMWIRE_PEER_LOST, error.what(), static_cast<int>(error.rank()));
    } catch (const sumwire::AggregatorLost& error) {
        return failed(SUMWIRE_AGGREGATOR_LOST, error.what());
    } catch (const sumwire::DeadlineExceeded& error) {
        return failed(SUMWIRE_DEADLINE_EXCEEDED, error.what());
    } catch (const sumwire::ProtocolError& error) {
        return failed(SUMWIRE_PROTOCOL_ERROR, error.what());
    } catch (const std::exception& error) {
        return failed(SUMWIRE_OTHER_ERROR, error.what());
    } catch (...) {
        return failed(SUMWIRE_OTHER_ERROR, "an unknown exception");
    }
}

void require(const void* pointer, const char* name) {
    if (pointer == nullptr) {
        throw sumwire::SetupError(std::string("the argument '") + name + "' is NULL");
    }
}

// Options as this library knows them, from a caller that may have been compiled against a shorter
// or longer struct.
sumwire_options known_part(const sumwire_options* given) {
    sumwire_options known;
    sumwire_options_init(&known, sizeof known);
    if (given != nullptr) {
        if (given->struct_size < offsetof(sumwire_options, aggregator)) {
            throw sumwire::SetupError(
                "sumwire_options is not initialised: call sumwire_options_init first");
        }
        std::memcpy(&known, given, std::min(given->struct_size, sizeof known));
    }
    return known;
}

std::string text(const char* string) {
    return string == nullptr ? std::string() : string;
}

// Callers pass any integer where C says enum: each known one is named, every other is refused.

[[noreturn]] void refuse(const char* what, int value, const char* choices) {
    throw sumwire::SetupError(fmt::format("{} {} is unknown: use {}", what, value, choices));
}

sumwire::Codec convert(sumwire_codec codec) {
    switch (codec) {
        case SUMWIRE_DENSE:
            return sumwire::Codec::dense;
        case SUMWIRE_PACKED:
            return sumwire::Codec::packed;
        case SUMWIRE_SKETCH:
            return sumwire::Codec::sketch;
        case SUMWIRE_AUTOMATIC:
            return sumwire::Codec::automatic;
    }
    refuse("codec", static_cast<int>(codec),
           "SUMWIRE_AUTOMATIC, SUMWIRE_DENSE, SUMWIRE_PACKED or SUMWIRE_SKETCH");
}

sumwire::Arithmetic convert(sumwire_arithmetic arithmetic) {
    switch (arithmetic) {
        case SUMWIRE_EXACT:
            return sumwire::Arithmetic::exact;
        case SUMWIRE_FLOAT32:
            return sumwire::Arithmetic::f32;
        case SUMWIRE_FIXED32:
            return sumwire::Arithmetic::fixed32;
    }
    refuse("arithmetic", static_cast<int>(arithmetic),
           "SUMWIRE_EXACT, SUMWIRE_FLOAT32 or SUMWIRE_FIXED32");
}

sumwire::Polling convert(sumwire_polling polling) {
    switch (polling) {
        case SUMWIRE_POLL_AUTOMATIC:
            return sumwire::Polling::automatic;
        case SUMWIRE_POLL_SPIN:
            return sumwire::Polling::spin;
        case SUMWIRE_POLL_YIELD:
            return sumwire::Polling::yield;
        case SUMWIRE_POLL_SLEEP:
            return sumwire::Polling::sleep;
    }
    refuse("polling", static_cast<int>(polling),
           "SUMWIRE_POLL_AUTOMATIC, SUMWIRE_POLL_SPIN, SUMWIRE_POLL_YIELD or SUMWIRE_POLL_SLEEP");
}

sumwire::DataType convert(sumwire_data_type type) {
    switch (type) {
        case SUMWIRE_F32:
            return sumwire::DataType::f32;
        case SUMWIRE_BF16:
            return sumwire::DataType::bf16;
        case SUMWIRE_F16:
            return sumwire::DataType::f16;
        case SUMWIRE_F64:
            return sumwire::DataType::f64;
        case SUMWIRE_I32:
            return sumwire::DataType::i32;
        case SUMWIRE_I64:
            return sumwire::DataType::i64;
    }
    refuse("data type", static_cast<int>(type),
           "SUMWIRE_F32, SUMWIRE_BF16, SUMWIRE_F16, SUMWIRE_F64, SUMWIRE_I32 or SUMWIRE_I64");
}

sumwire::ReduceOp convert(sumwire_reduce_op op) {
    switch (op) {
        case SUMWIRE_SUM:
            return sumwire::ReduceOp::sum;
        case SUMWIRE_AVERAGE:
            return sumwire::ReduceOp::average;
        case SUMWIRE_MINIMUM:
            return sumwire::ReduceOp::minimum;
        case SUMWIRE_MAXIMUM:
            return sumwire::ReduceOp::maximum;
    }
    refuse("reduction", static_cast<int>(op),
           "SUMWIRE_SUM, SUMWIRE_AVERAGE, SUMWIRE_MINIMUM or SUMWIRE_MAXIMUM");
}

sumwire::Options convert(const sumwire_options& given) {
    sumwire::Options options;
    options.rank = given.rank;
    options.world_size = given.world_size;
    options.aggregator = text(given.aggregator);
    options.job = text(given.job);
    options.port = text(given.port);
    options.codec = convert(given.codec);
    options.arithmetic = convert(given.arithmetic);
    options.polling = convert(given.polling);
    options.payload_bytes = given.payload_bytes;
    options.slots = given.slots;
    options.float_sums = given.float_sums != 0;
    options.checksums = given.checksums != 0;
    options.join_timeout = std::chrono::milliseconds(given.join_timeout_ms);
    options.deadline = std::chrono::milliseconds(given.deadline_ms);
    options.peer_timeout = std::chrono::milliseconds(given.peer_timeout_ms);
    return options;
}

}  // namespace

extern "C" {

void sumwire_options_init(sumwire_options* options, size_t struct_size) {
    if (options == nullptr) return;
    const sumwire::Options defaults;
    sumwire_options known = {};
    known.struct_size = struct_size;
    known.rank = defaults.rank;
    known.world_size = defaults.world_size;
    known.codec = SUMWIRE_AUTOMATIC;
    known.arithmetic = SUMWIRE_EXACT;
    known.polling = SUMWIRE_POLL_AUTOMATIC;
    known.payload_bytes = defaults.payload_bytes;
    known.slots = defaults.slots;
    known.float_sums = defaults.float_sums ? 1 : 0;
    known.checksums = defaults.checksums ? 1 : 0;
    known.join_timeout_ms = defaults.join_timeout.count();
    known.deadline_ms = defaults.deadline.count();
    known.peer_timeout_ms = defaults.peer_timeout.count();
    std::memset(options, 0, struct_size);
    std::memcpy(options, &known, std::min(struct_size, sizeof known));
}

sumwire_status sumwire_comm_create(const sumwire_options* options, sumwire_comm** comm) {
    return guarded([&] {
        require(comm, "comm");
        const sumwire_options known = known_part(options);
        *comm = new sumwire_comm{sumwire::Communicator::create(convert(known)), known.codec,
                                 known.arithmetic};
    });
}

void sumwire_comm_destroy(sumwire_comm* comm) {
    delete comm;
}

unsigned sumwire_comm_rank(const sumwire_comm* comm) {
    return comm == nullptr ? UINT_MAX : comm->communicator.rank();
}

unsigned sumwire_comm_world_size(const sumwire_comm* comm) {
    return comm == nullptr ? UINT_MAX : comm->communicator.world_size();
}

sumwire_status sumwire_comm_statistics(const sumwire_comm* comm, sumwire_statistics* statistics) {
    return guarded([&] {
        require(comm, "comm");
        require(statistics, "statistics");
        const sumwire::Statistics current = comm->communicator.statistics();
        sumwire_statistics known = {};
        known.struct_size = statistics->struct_size;
        known.wire_bytes_tx = current.wire_bytes_tx;
        known.wire_bytes_rx = current.wire_bytes_rx;
        known.packets_tx = current.packets_tx;
        known.packets_rx = current.packets_rx;
        known.retransmissions = current.retransmissions;
        known.stalled_chunks = current.stalled_chunks;
        known.chunks = current.chunks;
        known.dense_chunks = current.dense_chunks;
        known.packed_chunks = current.packed_chunks;
        known.sketch_chunks = current.sketch_chunks;
        std::memcpy(statistics, &known, std::min(statistics->struct_size, sizeof known));
    });
}

sumwire_status sumwire_register(sumwire_comm* comm, void* pointer, size_t bytes,
                                sumwire_buffer** buffer) {
    return guarded([&] {
        require(comm, "comm");
        require(buffer, "buffer");
        *buffer = new sumwire_buffer{comm->communicator.register_buffer(pointer, bytes)};
    });
}

sumwire_status sumwire_allocate(sumwire_comm* comm, size_t bytes, sumwire_buffer** buffer) {
    return guarded([&] {
        require(comm, "comm");
        require(buffer, "buffer");
        *buffer = new sumwire_buffer{comm->communicator.allocate(bytes)};
    });
}

void* sumwire_buffer_data(const sumwire_buffer* buffer) {
    return buffer == nullptr ? nullptr : buffer->buffer.data();
}

void sumwire_buffer_free(sumwire_buffer* buffer) {
    delete buffer;
}

sumwire_status sumwire_all_reduce(sumwire_comm* comm, void* pointer, size_t count,
                                  sumwire_data_type type, sumwire_reduce_op op,
                                  sumwire_work** work) {
    return guarded([&] {
        require(comm, "comm");
        require(work, "work");
        *work = new sumwire_work{
            comm->communicator.all_reduce(pointer, count, convert(type), convert(op))};
    });
}

sumwire_status sumwire_call_options_init(const sumwire_comm* comm, sumwire_call_options* options,
                                         size_t struct_size) {
    return guarded([&] {
        require(comm, "comm");
        require(options, "options");
        const sumwire_call_options known = {.struct_size = struct_size,
                                            .codec = comm->codec,
                                            .arithmetic = comm->arithmetic,
                                            .tag = 0};
        std::memset(options, 0, struct_size);
        std::memcpy(options, &known, std::min(struct_size, sizeof known));
    });
}

sumwire_status sumwire_all_reduce_with(sumwire_comm* comm, void* pointer, size_t count,
                                       sumwire_data_type type, sumwire_reduce_op op,
                                       const sumwire_call_options* options, sumwire_work** work) {
    return guarded([&] {
        require(comm, "comm");
        require(options, "options");
        require(work, "work");
        if (options->struct_size < offsetof(sumwire_call_options, tag)) {
            throw sumwire::SetupError(
                "sumwire_call_options is not initialised: call sumwire_call_options_init first");
        }
        sumwire_call_options known = {};
        std::memcpy(&known, options, std::min(options->struct_size, sizeof known));
        const sumwire::CallOptions call = {.codec = convert(known.codec),
                                           .arithmetic = convert(known.arithmetic),
                                           .tag = known.tag};
        *work = new sumwire_work{
            comm->communicator.all_reduce(pointer, count, convert(type), convert(op), call)};
    });
}

sumwire_status sumwire_work_wait(sumwire_work* work) {
    return guarded([&] {
        require(work, "work");
        work->work.wait();
    });
}

sumwire_status sumwire_work_test(sumwire_work* work, int* done) {
    return guarded([&] {
        require(work, "work");
        require(done, "done");
        *done = work->work.done() ? 1 : 0;
        if (*done != 0) work->work.wait();
    });
}

void sumwire_work_free(sumwire_work* work) {
    delete work;
}

sumwire_status sumwire_barrier(sumwire_comm* comm) {
    return guarded([&] {
        require(comm, "comm");
        comm->communicator.barrier();
    });
}

const char* sumwire_error_message(void) {
    return last_message.c_str();
}

int sumwire_lost_rank(void) {
    return last_lost_rank;
}

}  // extern "C"
