/* The same as allreduce.cpp, in C:
 *     cc allreduce.c -o allreduce $(pkg-config --cflags --libs sumwire)
 *     sumwire-run --workers 4 -- ./allreduce */
#include <stdio.h>
#include <stdlib.h>
#include <sumwire/sumwire.h>

#define COUNT 1000000

static void check(sumwire_status status) {
    if (status == SUMWIRE_OK) return;
    fprintf(stderr, "%s\n", sumwire_error_message());
    exit(1);
}

int main(void) {
    sumwire_options options;
    sumwire_options_init(&options, sizeof options);
    sumwire_comm* comm = NULL;
    check(sumwire_comm_create(&options, &comm));
    const unsigned rank = sumwire_comm_rank(comm), world_size = sumwire_comm_world_size(comm);
    sumwire_buffer* buffer = NULL;
    check(sumwire_allocate(comm, COUNT * sizeof(float), &buffer));
    float* gradient = sumwire_buffer_data(buffer);
    for (size_t i = rank; i < COUNT; i += 10) gradient[i] = (float)i + 0.5f;

    sumwire_work* work = NULL;
    check(sumwire_all_reduce(comm, gradient, COUNT, SUMWIRE_F32, SUMWIRE_SUM, &work));
    check(sumwire_work_wait(work));
    sumwire_work_free(work);

    size_t wrong = 0;
    for (size_t i = 0; i < COUNT; ++i)
        wrong += world_size <= 10 && gradient[i] != (i % 10 < world_size ? (float)i + 0.5f : 0);
    printf("rank %u of %u: %zu elements are wrong\n", rank, world_size, wrong);

    sumwire_buffer_free(buffer);
    sumwire_comm_destroy(comm);
    return wrong == 0 ? 0 : 1;
}
