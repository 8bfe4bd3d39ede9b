#include "tests/simulation/schedule.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace sumwire::simulation {

namespace {

using namespace std::chrono_literals;

class Draw {
  public:
    explicit Draw(std::uint64_t seed) : random_(seed) {}

    std::uint64_t bits() { return random_(); }
    bool chance(double probability) { return unit() < probability; }
    double unit() { return std::uniform_real_distribution<>(0, 1)(random_); }
    std::uint32_t between(std::uint32_t low, std::uint32_t high) {
        return std::uniform_int_distribution<std::uint32_t>(low, high)(random_);
    }
    // As often small as large.
    std::uint32_t size(std::uint32_t high) { return between(0, 1U << between(0, high)); }
    Time time(Time low, Time high) {
        return Time(std::uniform_int_distribution<Time::rep>(low.count(), high.count())(random_));
    }

  private:
    std::mt19937_64 random_;
};

Call draw_call(Draw& draw) {
    constexpr gpu::Codec codecs[] = {gpu::Codec::dense, gpu::Codec::packed, gpu::Codec::sketch};
    constexpr gpu::Arithmetic arithmetics[] = {gpu::Arithmetic::exact, gpu::Arithmetic::f32,
                                               gpu::Arithmetic::fixed32};
    Call call;
    call.count = draw.size(13);
    call.density = draw.chance(0.1) ? draw.between(0, 1) : draw.unit() * draw.unit();
    call.arithmetic = arithmetics[draw.between(0, 2)];
    if (draw.chance(0.7)) call.codec = codecs[draw.between(0, 2)];
    if (draw.chance(0.1)) call.type = gpu::DataType::i32;
    if (draw.chance(0.1)) call.reduction = gpu::Reduction::maximum;
    const bool sketchable =
        call.type == gpu::DataType::f32 && call.arithmetic != gpu::Arithmetic::f32;
    if (call.codec == gpu::Codec::sketch && !sketchable) call.codec = gpu::Codec::packed;
    return call;
}

JobPlan draw_job(Draw& draw, const Bounds& bounds, std::size_t number) {
    JobPlan job;
    job.name = "job" + std::to_string(number);
    job.world_size = bounds.workers.value_or(static_cast<std::uint16_t>(draw.between(1, 6)));
    job.payload_bytes = static_cast<std::uint16_t>(64U << draw.between(1, 4));
    job.slots = static_cast<std::uint16_t>(8U << draw.between(0, 4));
    // Near the wrap as often as not.
    job.first_sequence = draw.chance(0.5) ? 0U - draw.between(0, 64) : draw.between(0, 1000);
    const std::uint32_t calls = draw.between(1, 5);
    for (std::uint32_t i = 0; i < calls; ++i)
        job.calls.push_back(draw_call(draw));
    // Now and then several chunks, with packets that are large and many enough for them.
    if (draw.chance(0.03)) {
        job.payload_bytes = 1024;
        job.slots = 128;
        job.calls[0].count += 2 * gpu::chunk_elements;
    }
    return job;
}

}  // namespace

bool Schedule::harmless() const {
    return !partition && aggregator_ends == never &&
           std::ranges::all_of(jobs, [](const JobPlan& job) { return job.stalls.empty(); });
}

Schedule draw_schedule(std::uint64_t seed, const Bounds& bounds) {
    Draw draw(seed);
    Schedule schedule;
    schedule.seed = draw.bits();
    Faults& faults = schedule.faults;
    // Many runs lack some kind of fault altogether.
    const auto rate = [&](double limit) { return draw.chance(0.3) ? 0 : limit * draw.unit(); };
    faults.loss = rate(bounds.loss);
    faults.duplication = rate(bounds.duplication);
    faults.reordering = rate(bounds.reordering);
    faults.corruption = rate(bounds.corruption);
    schedule.checksums = bounds.checksums && faults.corruption > 0;
    faults.delay = draw.time(2us, 2ms);
    faults.detour = draw.time(0us, 5ms);
    if (draw.chance(0.3)) faults.bytes_per_second = 1e6 * std::exp2(draw.between(0, 10));

    const std::uint32_t jobs = draw.chance(0.2) ? draw.between(2, 3) : 1;
    for (std::uint32_t i = 0; i < jobs; ++i)
        schedule.jobs.push_back(draw_job(draw, bounds, i));
    if (!bounds.crashes || draw.chance(0.6)) return schedule;

    JobPlan& victim = schedule.jobs[0];
    const auto rank = static_cast<std::uint16_t>(draw.between(0, victim.world_size - 1U));
    const Time begin = draw.time(0ms, 200ms);
    switch (draw.between(0, 3)) {
        case 0:
            victim.stalls.push_back({.rank = rank, .begin = begin});
            break;
        case 1:
            victim.stalls.push_back(
                {.rank = rank, .begin = begin, .end = begin + draw.time(1ms, 8s)});
            break;
        case 2:
            schedule.partition =
                Stall{.rank = rank, .begin = begin, .end = begin + draw.time(1ms, 8s)};
            break;
        default:
            schedule.aggregator_ends = begin;
            if (draw.chance(0.5)) schedule.aggregator_begins = begin + draw.time(0ms, 3s);
            break;
    }
    return schedule;
}

}  // namespace sumwire::simulation
