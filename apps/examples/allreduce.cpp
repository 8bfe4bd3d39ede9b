// Sums a gradient over all ranks. Build against the installed library:
//   g++ -std=c++20 allreduce.cpp -o allreduce $(pkg-config --cflags --libs sumwire)
// Run: sumwire-run --workers 4 -- ./allreduce     (or torchrun, mpirun, srun)
#include <sumwire/communicator.h>

#include <cstdio>
#include <vector>

int main() {
    try {
        // Rank, world size and aggregator come from the environment.
        auto communicator = sumwire::Communicator::create({});

        // A gradient in which this rank has something to say about every hundredth element.
        std::vector<float> gradient(1'000'000);
        for (std::size_t i = communicator.rank(); i < gradient.size(); i += 100) {
            gradient[i] = 1.0F + static_cast<float>(communicator.rank());
        }
        const auto buffer =
            communicator.register_buffer(gradient.data(), gradient.size() * sizeof(float));

        auto work = communicator.all_reduce(gradient.data(), gradient.size());
        // Compute something else here.
        work.wait();

        std::size_t wrong = 0;
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            const bool present = i % 100 < communicator.world_size();
            wrong += gradient[i] != (present ? 1.0F + static_cast<float>(i % 100) : 0.0F);
        }
        const auto statistics = communicator.statistics();
        std::printf("rank %u of %u: %zu wrong, %.1f kB sent instead of %.1f kB\n",
                    communicator.rank(), communicator.world_size(), wrong,
                    static_cast<double>(statistics.wire_bytes_tx) / 1e3,
                    static_cast<double>(gradient.size()) * sizeof(float) / 1e3);
        return wrong == 0 ? 0 : 1;
    } catch (const sumwire::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
