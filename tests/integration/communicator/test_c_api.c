/* The C interface, compiled as C: one rank, and its errors. Exits 0 if all is right. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sumwire/sumwire.h"

#define CHECK(condition)                                                           \
    do {                                                                           \
        if (!(condition)) {                                                        \
            fprintf(stderr, "line %d: %s; last error: %s\n", __LINE__, #condition, \
                    sumwire_error_message());                                      \
            exit(1);                                                               \
        }                                                                          \
    } while (0)

int main(void) {
    sumwire_options options;
    sumwire_options_init(&options, sizeof options);
    CHECK(options.rank == -1 && options.slots == 1024 && options.deadline_ms == 60000);

    sumwire_comm* comm = NULL;
    options.rank = 3;
    options.world_size = 2;
    CHECK(sumwire_comm_create(&options, &comm) == SUMWIRE_SETUP_ERROR);
    CHECK(comm == NULL);
    CHECK(strstr(sumwire_error_message(), "rank 3") != NULL);
    CHECK(sumwire_lost_rank() == -1);

    options.rank = 0;
    options.world_size = 1;
    options.port = "inproc:c-interface";

    /* Enumerators that do not exist are not taken for those that their low bits name. */
    options.codec = (sumwire_codec)256;
    CHECK(sumwire_comm_create(&options, &comm) == SUMWIRE_SETUP_ERROR);
    CHECK(strstr(sumwire_error_message(), "codec 256") != NULL);
    options.codec = SUMWIRE_PACKED;
    options.arithmetic = (sumwire_arithmetic)257;
    CHECK(sumwire_comm_create(&options, &comm) == SUMWIRE_SETUP_ERROR);
    CHECK(strstr(sumwire_error_message(), "arithmetic 257") != NULL);
    options.arithmetic = SUMWIRE_EXACT;
    options.polling = (sumwire_polling)4;
    CHECK(sumwire_comm_create(&options, &comm) == SUMWIRE_SETUP_ERROR);
    CHECK(strstr(sumwire_error_message(), "polling 4") != NULL);
    options.polling = SUMWIRE_POLL_AUTOMATIC;
    options.peer_timeout_ms = INT64_MAX;
    CHECK(sumwire_comm_create(&options, &comm) == SUMWIRE_SETUP_ERROR);
    CHECK(strstr(sumwire_error_message(), "peer_timeout") != NULL);
    options.peer_timeout_ms = 5000;
    options.deadline_ms = INT64_MAX;
    options.join_timeout_ms = INT64_MAX;

    CHECK(sumwire_comm_create(&options, NULL) == SUMWIRE_SETUP_ERROR);
    CHECK(sumwire_comm_create(&options, &comm) == SUMWIRE_OK);
    CHECK(sumwire_comm_rank(comm) == 0 && sumwire_comm_world_size(comm) == 1);

    sumwire_buffer* buffer = NULL;
    CHECK(sumwire_allocate(comm, 4000, &buffer) == SUMWIRE_OK);
    float* values = sumwire_buffer_data(buffer);
    for (int i = 0; i < 1000; ++i)
        values[i] = (float)i;

    sumwire_work* work = NULL;
    CHECK(sumwire_all_reduce(comm, values, 1000, SUMWIRE_F32, SUMWIRE_SUM, &work) == SUMWIRE_OK);
    CHECK(sumwire_work_wait(work) == SUMWIRE_OK);
    int done = 0;
    CHECK(sumwire_work_test(work, &done) == SUMWIRE_OK && done == 1);
    sumwire_work_free(work);
    for (int i = 0; i < 1000; ++i)
        CHECK(values[i] == (float)i);

    sumwire_call_options call;
    CHECK(sumwire_call_options_init(comm, &call, sizeof call) == SUMWIRE_OK);
    CHECK(call.codec == SUMWIRE_PACKED && call.arithmetic == SUMWIRE_EXACT && call.tag == 0);
    call.codec = SUMWIRE_DENSE;
    CHECK(sumwire_all_reduce_with(comm, values, 1000, SUMWIRE_F32, SUMWIRE_AVERAGE, &call, &work) ==
          SUMWIRE_OK);
    CHECK(sumwire_work_wait(work) == SUMWIRE_OK);
    sumwire_work_free(work);
    int64_t integers[2] = {INT64_MIN, 7};
    CHECK(sumwire_all_reduce(comm, integers, 2, SUMWIRE_I64, SUMWIRE_MINIMUM, &work) == SUMWIRE_OK);
    CHECK(sumwire_work_wait(work) == SUMWIRE_OK);
    sumwire_work_free(work);
    CHECK(integers[0] == INT64_MIN && integers[1] == 7);

    call.arithmetic = SUMWIRE_FLOAT32;
    CHECK(sumwire_all_reduce_with(comm, values, 1000, SUMWIRE_F32, SUMWIRE_AVERAGE, &call, &work) ==
          SUMWIRE_SETUP_ERROR);
    CHECK(strstr(sumwire_error_message(), "float_sums") != NULL);
    call.arithmetic = SUMWIRE_EXACT;
    CHECK(sumwire_all_reduce(comm, values, 1000, (sumwire_data_type)256, SUMWIRE_SUM, &work) ==
          SUMWIRE_SETUP_ERROR);
    CHECK(sumwire_all_reduce(comm, values, 1000, SUMWIRE_F32, (sumwire_reduce_op)257, &work) ==
          SUMWIRE_SETUP_ERROR);
    CHECK(sumwire_all_reduce(comm, values, SIZE_MAX, SUMWIRE_F32, SUMWIRE_SUM, &work) ==
          SUMWIRE_SETUP_ERROR);
    call.codec = (sumwire_codec)257;
    CHECK(sumwire_all_reduce_with(comm, values, 1000, SUMWIRE_F32, SUMWIRE_SUM, &call, &work) ==
          SUMWIRE_SETUP_ERROR);
    call.struct_size = 0;
    CHECK(sumwire_all_reduce_with(comm, values, 1000, SUMWIRE_F32, SUMWIRE_SUM, &call, &work) ==
          SUMWIRE_SETUP_ERROR);
    CHECK(strstr(sumwire_error_message(), "sumwire_call_options_init") != NULL);
    CHECK(sumwire_comm_rank(NULL) == UINT_MAX && sumwire_comm_world_size(NULL) == UINT_MAX);
    CHECK(sumwire_buffer_data(NULL) == NULL);
    sumwire_options_init(NULL, sizeof options);
    CHECK(sumwire_barrier(comm) == SUMWIRE_OK);

    sumwire_statistics statistics;
    memset(&statistics, 0, sizeof statistics);
    statistics.struct_size = sizeof statistics;
    CHECK(sumwire_comm_statistics(comm, &statistics) == SUMWIRE_OK);
    CHECK(statistics.chunks == 3 && statistics.wire_bytes_tx > 0);
    CHECK(statistics.packed_chunks == 1 && statistics.dense_chunks == 2);

    sumwire_buffer_free(buffer);
    sumwire_comm_destroy(comm);
    sumwire_comm_destroy(NULL);
    return 0;
}
