// A user's program: sums twice. With an argument, the rank of that number dies in between.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "sumwire/communicator.h"

int main(int argc, char** argv) {
    try {
        sumwire::Options options;
        if (const char* seconds = std::getenv("WORKER_JOIN_SECONDS"))
            options.join_timeout = std::chrono::seconds(std::atoi(seconds));
        auto communicator = sumwire::Communicator::create(options);
        for (int round = 0; round < 2; ++round) {
            std::vector<float> values(100'000, static_cast<float>(communicator.rank() + 1));
            communicator.all_reduce(values.data(), values.size()).wait();
            const unsigned n = communicator.world_size();
            for (const float value : values)
                if (value != static_cast<float>(n * (n + 1) / 2)) return 3;
            if (argc > 1 && std::atoi(argv[1]) == static_cast<int>(communicator.rank()))
                raise(SIGKILL);
        }
        std::printf("right\n");
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
