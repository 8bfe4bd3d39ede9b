// Sums a gradient over all ranks of a job, with the installed library:
//
//     c++ -std=c++20 allreduce.cpp -o allreduce $(pkg-config --cflags --libs sumwire)
//     sumwire-run --workers 4 -- ./allreduce
// torchrun, mpirun and srun start it as well: without an aggregator's address rank 0 embeds one.
#include <sumwire/communicator.h>

#include <cstdio>
#include <exception>
#include <vector>

int main() {
    try {
        // Rank, world size and how to reach the others come from the environment.
        auto communicator = sumwire::Communicator::create({});

        // One element in ten is not zero, on each rank others.
        std::vector<float> gradient(1'000'000);
        for (std::size_t i = communicator.rank(); i < gradient.size(); i += 10)
            gradient[i] = static_cast<float>(i) + 0.5F;

        const sumwire::Work work = communicator.all_reduce(gradient.data(), gradient.size());
        work.wait();  // until here the gradient is the library's

        std::size_t wrong = 0;
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            const bool some_rank_had_it = i % 10 < communicator.world_size();
            const float expected = some_rank_had_it ? static_cast<float>(i) + 0.5F : 0.0F;
            if (communicator.world_size() <= 10 && gradient[i] != expected) ++wrong;
        }
        const auto sent = communicator.statistics().wire_bytes_tx;
        std::printf("rank %u of %u: %zu elements are wrong, %llu bytes sent instead of %zu\n",
                    communicator.rank(), communicator.world_size(), wrong,
                    static_cast<unsigned long long>(sent), gradient.size() * sizeof(float));
        return wrong == 0 ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
