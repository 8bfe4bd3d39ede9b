#include "tests/simulation/rank.h"

#include <algorithm>
#include <bit>
#include <exception>
#include <random>
#include <utility>

#include "gpu/device.h"
#include "runtime/log.h"
#include "sumwire/errors.h"

namespace sumwire::simulation {

namespace {

using runtime::WorkerSession;
using namespace std::chrono_literals;

constexpr Time call_deadline = 20s;
constexpr std::int64_t largest = 1 << 13;  // times 1,024 ranks it is below 2^24

// What the engine asks a port for: nothing, it sends through the session.
class NoPort final : public nic::PacketPort {
  public:
    const nic::PortInfo& info() const override { return info_; }
    std::size_t transmit(std::span<const nic::TxPacket>) override { return 0; }
    std::size_t receive(std::span<nic::RxPacket>) override { return 0; }
    void release(std::span<const nic::RxPacket>) override {}
    void wait(std::chrono::microseconds) override {}
    std::unique_ptr<nic::MemoryRegion> register_memory(std::span<std::byte>) override {
        return nullptr;
    }
    nic::PortCounters counters() const override { return {}; }

  private:
    nic::PortInfo info_;
};

runtime::SessionConfig session_config(const JobPlan& plan, std::uint16_t rank, bool checksums,
                                      std::uint64_t seed) {
    runtime::SessionConfig config;
    config.join = {.nonce = seed,
                   .rank = rank,
                   .world_size = plan.world_size,
                   .payload_bytes = plan.payload_bytes,
                   .slots = plan.slots,
                   .peer_timeout_ms = 3000,
                   .checksums = checksums,
                   .float_sums = true,
                   .job = plan.name};
    config.join_timeout = 15s;
    config.max_messages = runtime::CollectiveEngine::max_messages;
    config.first_sequence = plan.first_sequence;
    return config;
}

std::int64_t draw_integer(std::mt19937_64& random, double density) {
    if (std::uniform_real_distribution<>(0, 1)(random) >= density) return 0;
    return static_cast<std::int64_t>(random() % (2 * largest)) - largest;
}

std::vector<std::int64_t> integers(const JobPlan& plan, std::size_t number, std::uint16_t rank) {
    const Call& call = plan.calls[number];
    std::mt19937_64 random(std::hash<std::string>{}(plan.name) + 1009 * number + rank);
    std::vector<std::int64_t> values(call.count);
    for (std::int64_t& value : values)
        value = draw_integer(random, call.density);
    return values;
}

std::uint32_t bits_of(std::int64_t value, gpu::DataType type) {
    return type == gpu::DataType::i32 ? static_cast<std::uint32_t>(value)
                                      : std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

}  // namespace

std::vector<std::uint32_t> contribution(const JobPlan& plan, std::size_t number,
                                        std::uint16_t rank) {
    std::vector<std::uint32_t> bits;
    for (const std::int64_t value : integers(plan, number, rank))
        bits.push_back(bits_of(value, plan.calls[number].type));
    return bits;
}

std::vector<std::vector<std::uint32_t>> references(const JobPlan& plan) {
    std::vector<std::vector<std::uint32_t>> all;
    for (std::size_t number = 0; number < plan.calls.size(); ++number) {
        const Call& call = plan.calls[number];
        std::vector<std::int64_t> result = integers(plan, number, 0);
        for (std::uint16_t rank = 1; rank < plan.world_size; ++rank) {
            const auto more = integers(plan, number, rank);
            for (std::size_t i = 0; i < result.size(); ++i) {
                result[i] = call.reduction == gpu::Reduction::maximum ? std::max(result[i], more[i])
                                                                      : result[i] + more[i];
            }
        }
        std::vector<std::uint32_t>& bits = all.emplace_back();
        for (const std::int64_t value : result)
            bits.push_back(bits_of(value, call.type));
    }
    return all;
}

Rank::Rank(const JobPlan& plan, const std::vector<std::vector<std::uint32_t>>& reference,
           std::uint16_t rank, const nic::Endpoint& own, const nic::Endpoint& aggregator,
           bool checksums, std::uint64_t seed, Time now)
    : plan_(plan),
      reference_(reference),
      own_(own),
      aggregator_(aggregator),
      no_port_(std::make_unique<NoPort>()),
      session_(session_config(plan, rank, checksums, seed), now),
      rank_(rank) {}

void Rank::receive(std::span<const std::byte> datagram, Time now) {
    if (outcome_ != Outcome::stopped) session_.receive(datagram, now);
}

Time Rank::work(VirtualNetwork& network, Time now) {
    if (outcome_ == Outcome::stopped) return never;
    if (outcome_ == Outcome::running) drive(now);
    std::array<runtime::SessionPacket, 64> packets;
    std::size_t count = 0;
    do {
        count = session_.poll_transmit(now, packets);
        for (std::size_t i = 0; i < count; ++i) {
            network.send(own_, aggregator_, packets[i].header, packets[i].payload, now);
            bytes_sent_ +=
                nic::network_header_bytes + packets[i].header.size() + packets[i].payload.size();
        }
    } while (count == packets.size());
    if (outcome_ == Outcome::running) drive(now);
    Time next = session_.next_deadline();
    if (engine_ && outcome_ == Outcome::running) next = std::min(next, engine_->next_deadline());
    return next;
}

void Rank::drive(Time now) {
    if (session_.state() == WorkerSession::State::running && !engine_) begin_calls(now);
    if (engine_) {
        try {
            while (engine_->advance()) {
            }
        } catch (const ProtocolError& error) {
            fail(error.what());
            return;
        }
        check_results();
    }
    if (outcome_ != Outcome::running) return;
    if (session_.state() == WorkerSession::State::failed) {
        fail(session_.failure().text);
    } else if (engine_ && now >= engine_->next_deadline()) {
        fail("deadline: " + engine_->describe_oldest());
    }
}

void Rank::begin_calls(Time now) {
    engine_ = std::make_unique<runtime::CollectiveEngine>(gpu::host_device(), *no_port_, session_,
                                                          plan_.world_size);
    const auto log = std::make_shared<const runtime::Log>();
    calls_.resize(plan_.calls.size());
    for (std::size_t number = 0; number < calls_.size(); ++number) {
        const Call& call = plan_.calls[number];
        Pending& pending = calls_[number];
        pending.values = contribution(plan_, number, rank_);
        pending.completion = std::make_shared<runtime::Completion>(log);
        runtime::Operation operation;
        operation.call = {.kind = runtime::CollectiveCall::Kind::all_reduce,
                          .count = call.count,
                          .type = call.type,
                          .reduction = call.reduction,
                          .codec = call.codec,
                          .arithmetic = call.arithmetic};
        operation.values = pending.values.data();
        operation.deadline = now + call_deadline;
        operation.completion = pending.completion;
        engine_->submit(std::move(operation));
    }
}

void Rank::check_results() {
    for (std::size_t number = 0; number < calls_.size(); ++number) {
        if (!calls_[number].completion->done()) return;
        if (calls_[number].values == reference_[number]) continue;
        outcome_ = Outcome::wrong_bits;
        error_ = "call " + std::to_string(number) + " has wrong values";
        session_.leave();
        return;
    }
    outcome_ = Outcome::completed;
    session_.leave();
}

void Rank::fail(std::string error) {
    outcome_ = Outcome::failed;
    error_ = std::move(error);
    engine_.reset();
    session_.leave();
}

bool Rank::gone() const {
    return outcome_ == Outcome::stopped || (outcome_ != Outcome::running && session_.gone());
}

}  // namespace sumwire::simulation
