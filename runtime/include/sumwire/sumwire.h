/* Sumwire's C interface. Stable: functions, enumerators and the order of struct members only ever
 * grow at their ends.
 *
 * The meaning of everything is that of communicator.h, which this interface wraps. Functions return
 * SUMWIRE_OK or an error code; sumwire_error_message then says what happened and what to do.
 */
#ifndef SUMWIRE_SUMWIRE_H
#define SUMWIRE_SUMWIRE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sumwire_status {
    SUMWIRE_OK = 0,
    SUMWIRE_SETUP_ERROR = 1, /* arguments or environment; nothing was changed */
    SUMWIRE_PEER_LOST = 2,   /* sumwire_lost_rank tells which */
    SUMWIRE_AGGREGATOR_LOST = 3,
    SUMWIRE_DEADLINE_EXCEEDED = 4,
    SUMWIRE_PROTOCOL_ERROR = 5,
    SUMWIRE_OTHER_ERROR = 6 /* closed communicator, out of memory, ... */
} sumwire_status;

typedef enum sumwire_data_type {
    SUMWIRE_F32 = 0,
    SUMWIRE_BF16 = 1,
    SUMWIRE_F16 = 2,
    SUMWIRE_F64 = 3,
    SUMWIRE_I32 = 4,
    SUMWIRE_I64 = 5
} sumwire_data_type;
typedef enum sumwire_reduce_op {
    SUMWIRE_SUM = 0,
    SUMWIRE_AVERAGE = 1,
    SUMWIRE_MINIMUM = 2,
    SUMWIRE_MAXIMUM = 3
} sumwire_reduce_op;
typedef enum sumwire_codec {
    SUMWIRE_DENSE = 0,
    SUMWIRE_PACKED = 1,
    SUMWIRE_SKETCH = 2,
    SUMWIRE_AUTOMATIC = 3
} sumwire_codec;
typedef enum sumwire_arithmetic {
    SUMWIRE_EXACT = 0,
    SUMWIRE_FLOAT32 = 1,
    SUMWIRE_FIXED32 = 2
} sumwire_arithmetic;
typedef enum sumwire_polling {
    SUMWIRE_POLL_AUTOMATIC = 0,
    SUMWIRE_POLL_SPIN = 1,
    SUMWIRE_POLL_YIELD = 2,
    SUMWIRE_POLL_SLEEP = 3
} sumwire_polling;

/* Fill with sumwire_options_init, then change what you need. Strings are copied by create; NULL
 * means the default. Times are in milliseconds. */
typedef struct sumwire_options {
    size_t struct_size;
    int rank;       /* -1: from the launcher's environment */
    int world_size; /* -1: likewise */
    const char* aggregator;
    const char* job;
    const char* port;
    sumwire_codec codec;
    sumwire_arithmetic arithmetic;
    sumwire_polling polling;
    size_t payload_bytes; /* 0: as the MTU allows */
    unsigned slots;
    int float_sums;
    int checksums;
    int64_t join_timeout_ms;
    int64_t deadline_ms;
    int64_t peer_timeout_ms;
} sumwire_options;

/* What a single all_reduce chooses. Fill with sumwire_call_options_init: the communicator's choices
 * and tag 0. */
typedef struct sumwire_call_options {
    size_t struct_size;
    sumwire_codec codec;
    sumwire_arithmetic arithmetic;
    uint64_t tag; /* tells tensors of the same count apart that differ in sparsity */
} sumwire_call_options;

typedef struct sumwire_statistics {
    size_t struct_size; /* set to sizeof(sumwire_statistics) before the call */
    uint64_t wire_bytes_tx;
    uint64_t wire_bytes_rx;
    uint64_t packets_tx;
    uint64_t packets_rx;
    uint64_t retransmissions;
    uint64_t stalled_chunks;
    uint64_t chunks;
    uint64_t dense_chunks;
    uint64_t packed_chunks;
    uint64_t sketch_chunks;
} sumwire_statistics;

typedef struct sumwire_comm sumwire_comm;
typedef struct sumwire_buffer sumwire_buffer;
typedef struct sumwire_work sumwire_work;

/* struct_size is sizeof(sumwire_options) as the caller was compiled. NULL is ignored. */
void sumwire_options_init(sumwire_options* options, size_t struct_size);

/* Blocks until every rank has joined. *comm is set only on SUMWIRE_OK. */
sumwire_status sumwire_comm_create(const sumwire_options* options, sumwire_comm** comm);
/* NULL is allowed. */
void sumwire_comm_destroy(sumwire_comm* comm);
/* UINT_MAX if comm is NULL. */
unsigned sumwire_comm_rank(const sumwire_comm* comm);
unsigned sumwire_comm_world_size(const sumwire_comm* comm);
sumwire_status sumwire_comm_statistics(const sumwire_comm* comm, sumwire_statistics* statistics);

/* Memory known to the communicator, the caller's or new. */
sumwire_status sumwire_register(sumwire_comm* comm, void* pointer, size_t bytes,
                                sumwire_buffer** buffer);
sumwire_status sumwire_allocate(sumwire_comm* comm, size_t bytes, sumwire_buffer** buffer);
/* NULL if buffer is NULL. */
void* sumwire_buffer_data(const sumwire_buffer* buffer);
void sumwire_buffer_free(sumwire_buffer* buffer);

/* In place, asynchronous. *work must be freed, at any time. */
sumwire_status sumwire_all_reduce(sumwire_comm* comm, void* pointer, size_t count,
                                  sumwire_data_type type, sumwire_reduce_op op,
                                  sumwire_work** work);
/* struct_size is sizeof(sumwire_call_options) as the caller was compiled. */
sumwire_status sumwire_call_options_init(const sumwire_comm* comm, sumwire_call_options* options,
                                         size_t struct_size);
sumwire_status sumwire_all_reduce_with(sumwire_comm* comm, void* pointer, size_t count,
                                       sumwire_data_type type, sumwire_reduce_op op,
                                       const sumwire_call_options* options, sumwire_work** work);
sumwire_status sumwire_work_wait(sumwire_work* work);
/* *done becomes 0 or 1; an operation that failed is done and returns its error. */
sumwire_status sumwire_work_test(sumwire_work* work, int* done);
void sumwire_work_free(sumwire_work* work);

sumwire_status sumwire_barrier(sumwire_comm* comm);

/* Of the last call on this thread that did not return SUMWIRE_OK; never NULL. */
const char* sumwire_error_message(void);
/* After SUMWIRE_PEER_LOST on this thread; -1 otherwise. */
int sumwire_lost_rank(void);

#ifdef __cplusplus
}
#endif

#endif
