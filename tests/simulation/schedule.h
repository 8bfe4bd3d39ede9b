// What happens in one simulated run, drawn from a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu/codec/chunk_codec.h"
#include "nic/time.h"
#include "tests/simulation/virtual_network.h"

namespace sumwire::simulation {

// One all_reduce that every rank of a job calls.
struct Call {
    std::uint32_t count = 0;
    double density = 0;
    gpu::DataType type = gpu::DataType::f32;  // f32 or i32
    gpu::Reduction reduction = gpu::Reduction::sum;
    std::optional<gpu::Codec> codec;
    gpu::Arithmetic arithmetic = gpu::Arithmetic::exact;
};

// A rank that stops for a while, or for good.
struct Stall {
    std::uint16_t rank = 0;
    Time begin{};
    Time end = never;
};

struct JobPlan {
    std::string name;
    std::uint16_t world_size = 2;
    std::uint16_t payload_bytes = 256;
    std::uint16_t slots = 16;
    std::uint32_t first_sequence = 0;
    std::vector<Call> calls;
    std::vector<Stall> stalls;
};

struct Schedule {
    std::uint64_t seed = 0;
    Faults faults;
    bool checksums = false;  // on where the network damages packets, unless told otherwise
    std::vector<JobPlan> jobs;
    // Cut off for a while: this rank of the first job.
    std::optional<Stall> partition;
    // The aggregator stops here, and another one starts at its address there.
    Time aggregator_ends = never;
    Time aggregator_begins = never;
    // Every run must end within this, in virtual time.
    Time deadline = std::chrono::seconds(60);

    // Nothing but what a network does to packets: every all_reduce must complete.
    bool harmless() const;
};

// What a caller may pin; the rest is drawn.
struct Bounds {
    std::optional<std::uint16_t> workers;
    double loss = 0.2;  // upper limits
    double duplication = 0.1;
    double reordering = 0.5;
    double corruption = 0.01;
    bool crashes = true;
    bool checksums = true;  // where they are needed
};

Schedule draw_schedule(std::uint64_t seed, const Bounds& bounds);

}  // namespace sumwire::simulation
