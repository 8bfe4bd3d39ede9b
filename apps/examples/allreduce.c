/* The same in C:
 *   gcc -std=c11 allreduce.c -o allreduce $(pkg-config --cflags --libs sumwire)
 */
#include <stdio.h>
#include <stdlib.h>
#include <sumwire/sumwire.h>

static void must(sumwire_status status) {
    if (status == SUMWIRE_OK) return;
    fprintf(stderr, "%s\n", sumwire_error_message());
    exit(1);
}

int main(void) {
    sumwire_options options; /* rank, world size and aggregator come from the environment */
    sumwire_options_init(&options, sizeof options);
    sumwire_comm* comm = NULL;
    must(sumwire_comm_create(&options, &comm));

    const size_t count = 1000000;
    sumwire_buffer* buffer = NULL;
    must(sumwire_allocate(comm, count * sizeof(float), &buffer));
    float* gradient = sumwire_buffer_data(buffer); /* zeroed */
    for (size_t i = 0; i < count; i += 100) gradient[i] = 1.0f + (float)sumwire_comm_rank(comm);

    sumwire_work* work = NULL;
    must(sumwire_all_reduce(comm, gradient, count, SUMWIRE_F32, SUMWIRE_SUM, &work));
    must(sumwire_work_wait(work));
    sumwire_work_free(work);

    const unsigned ranks = sumwire_comm_world_size(comm);
    const float expected = (float)(ranks * (ranks + 1) / 2);
    size_t wrong = 0;
    for (size_t i = 0; i < count; ++i) wrong += gradient[i] != (i % 100 == 0 ? expected : 0.0f);
    printf("rank %u of %u: %zu wrong\n", sumwire_comm_rank(comm), ranks, wrong);

    sumwire_buffer_free(buffer);
    sumwire_comm_destroy(comm);
    return wrong == 0 ? 0 : 1;
}
