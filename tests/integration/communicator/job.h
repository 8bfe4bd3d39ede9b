// Runs a job of several ranks, each on a thread of its own, in this process.
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "sumwire/communicator.h"

namespace sumwire::testing {

// A name that no other test of this process has used.
inline std::string fresh_name() {
    static std::atomic<int> count = 0;
    return "test" + std::to_string(count++);
}

// Options of one rank of a job over a fresh in-process network; rank 0 embeds the aggregator.
inline Options in_process_options(int world_size) {
    Options options;
    options.world_size = world_size;
    options.job = fresh_name();
    options.port = "inproc:" + options.job;
    options.join_timeout = std::chrono::seconds(20);
    return options;
}

// Calls `body` for each rank on its own thread, with a communicator. Rethrows the first failure, in
// order of rank.
inline void run_job(const Options& options, const std::function<void(Communicator&)>& body) {
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(options.world_size));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < options.world_size; ++rank) {
        threads.emplace_back([&, rank] {
            try {
                Options mine = options;
                mine.rank = rank;
                Communicator communicator = Communicator::create(mine);
                body(communicator);
            } catch (...) {
                failures[static_cast<std::size_t>(rank)] = std::current_exception();
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    for (const std::exception_ptr& failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
}

// Sparse values whose sums over a few ranks are exact in double: 24-bit significands, exponents
// from -10 to 10. The same for the same rank and seed.
inline std::vector<float> gradient(std::size_t count, unsigned rank, double density,
                                   std::uint64_t seed) {
    std::mt19937_64 random(seed * 1000003 + rank);
    std::vector<float> values(count);
    for (float& value : values) {
        if (std::uniform_real_distribution<>(0, 1)(random) >= density) continue;
        const auto significand = static_cast<std::int32_t>(random() % (1U << 24U)) - (1 << 23);
        const int exponent = static_cast<int>(random() % 21) - 10 - 24;
        value = std::ldexp(static_cast<float>(significand), exponent);
    }
    return values;
}

}  // namespace sumwire::testing
