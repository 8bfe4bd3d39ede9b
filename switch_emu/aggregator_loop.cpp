#include "switch_emu/aggregator_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfenv>
#include <numeric>
#include <thread>

namespace sumwire::aggregator {
namespace {

// Longest sleep: bounds how late a stop or a question for statistics is noticed.
constexpr std::chrono::microseconds longest_nap{20'000};

// Tries for a burst that the port does not take. Receivers that share our cores need some of them
// to run; one that is gone must not hold up the others for long.
constexpr unsigned transmit_attempts = 1000;
// For each further destination once one was given up.
constexpr unsigned further_attempts = 16;

// Answers are sent before so many wait that the outbox would have to grow.
constexpr std::size_t outbox_capacity = 4096;
constexpr std::size_t outbox_full = outbox_capacity - nic::max_world_size;

// Deadlines wait for an empty queue, for this long at most.
constexpr Time longest_overdue = std::chrono::milliseconds(250);

constexpr Time farewell = std::chrono::seconds(2);

// Float sums must not depend on what this process set for its own arithmetic: rounding, or
// subnormals flushed to zero.
class DefaultArithmetic {
  public:
    DefaultArithmetic() {
        std::fegetenv(&before_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~DefaultArithmetic() { std::fesetenv(&before_); }
    DefaultArithmetic(const DefaultArithmetic&) = delete;
    DefaultArithmetic& operator=(const DefaultArithmetic&) = delete;

  private:
    std::fenv_t before_{};
};

Limits fitted(Limits limits, const nic::PortInfo& port) {
    const std::size_t room =
        port.max_datagram > nic::header_bytes ? port.max_datagram - nic::header_bytes : 0;
    const std::size_t payload = std::min<std::size_t>(limits.payload_bytes, room / 64 * 64);
    if (payload == 0 && limits.payload_bytes != 0) {
        throw nic::SetupError(fmt::format(
            "{} carries datagrams of {} bytes, too small for any payload: raise its MTU",
            port.description, port.max_datagram));
    }
    limits.payload_bytes = static_cast<std::uint16_t>(payload);
    limits.receive_capacity = port.receive_capacity;
    return limits;
}

}  // namespace

AggregatorLoop::AggregatorLoop(nic::PacketPort& port, const Options& options)
    : port_(port),
      limits_(fitted(options.limits, port.info())),
      finish_after_last_job_(options.finish_after_last_job),
      aggregator_(limits_, random_session, options.observer),
      idle_(options.polling, options.pollers),
      outbox_(outbox_capacity) {
    order_.reserve(outbox_capacity);
}

void AggregatorLoop::run(const std::stop_token& stop) {
    const DefaultArithmetic default_arithmetic;
    {
        const std::lock_guard lock(mutex_);
        state_ = State::running;
    }
    while (!stop.stop_requested()) {
        const Time now = steady_now();
        const std::size_t received = receive_burst(now);
        if (must_expire(now, received < burst)) {
            aggregator_.expire(now, outbox_);
            transmit_answers();
        }
        if (wanted_.load(std::memory_order_relaxed)) publish();
        if (received != 0) {
            idle_.reset();
            continue;
        }
        if (finished(now)) break;
        const Time until = std::max(aggregator_.next_deadline() - now, Time::zero());
        idle_.idle(port_, std::chrono::duration_cast<std::chrono::microseconds>(
                              std::min<Time>(until, longest_nap)));
    }
    aggregator_.close(outbox_);
    transmit_answers();
    publish();
    const std::lock_guard lock(mutex_);
    state_ = State::ended;
    changed_.notify_all();
}

// After a pause of this process, what a rank sent meanwhile must count before its silence does: so
// the queue comes first. It has its time from when this loop sees the deadline pass, not from the
// deadline itself, which may have come within the pause.
bool AggregatorLoop::must_expire(Time now, bool queue_is_empty) {
    if (now < aggregator_.next_deadline()) {
        overdue_since_ = never;
        return false;
    }
    if (overdue_since_ == never) overdue_since_ = now;
    if (!queue_is_empty && now - overdue_since_ < longest_overdue) return false;
    overdue_since_ = never;
    return true;
}

bool AggregatorLoop::finished(Time now) {
    const bool draining = draining_.load(std::memory_order_relaxed);
    if (!(draining || finish_after_last_job_) || !aggregator_.idle()) {
        idle_since_ = never;
        return false;
    }
    const Statistics statistics = aggregator_.statistics();
    if (!draining && statistics.jobs_started == 0) return false;
    if (idle_since_ == never) idle_since_ = now;
    return statistics.jobs_lost == 0 || now - idle_since_ >= farewell;
}

std::size_t AggregatorLoop::receive_burst(Time now) {
    const std::size_t count = port_.receive(received_);
    const std::span<const nic::RxPacket> packets(received_.data(), count);
    for (const nic::RxPacket& packet : packets) {
        aggregator_.receive(packet.from, packet.datagram, now, outbox_);
        if (outbox_.packets().size() >= outbox_full) transmit_answers();
    }
    if (count != 0) port_.release(packets);
    transmit_answers();
    return count;
}

void AggregatorLoop::transmit_answers() {
    if (outbox_.empty()) return;
    order_answers();
    std::span<const std::uint32_t> rest = order_;
    unsigned attempts = transmit_attempts;
    while (!rest.empty()) {
        const auto some = rest.first(std::min(rest.size(), burst));
        std::ranges::transform(some, to_send_.begin(), [this](std::uint32_t index) {
            const Outgoing& answer = outbox_.packets()[index];
            return nic::TxPacket{
                .to = answer.to, .header = answer.header, .payload = answer.payload};
        });
        transmit({to_send_.data(), some.size()}, attempts);
        rest = rest.subspan(some.size());
    }
    outbox_.clear();
    aggregator_.free_ended();
}

// Results come in turns, one for each rank. Ports send runs to one destination best: one link's
// burst, one segmented datagram. So answers go out group by group, each in its order.
void AggregatorLoop::order_answers() {
    const auto packets = outbox_.packets();
    group_ends_.fill(0);
    for (const Outgoing& packet : packets)
        ++group_ends_[packet.group];
    std::partial_sum(group_ends_.begin(), group_ends_.end(), group_ends_.begin());
    order_.resize(packets.size());
    for (std::size_t index = packets.size(); index-- > 0;)
        order_[--group_ends_[packets[index].group]] = static_cast<std::uint32_t>(index);
}

// Gives up on destinations that take nothing, one at a time: those of the same port may still do.
void AggregatorLoop::transmit(std::span<const nic::TxPacket> packets, unsigned& attempts) {
    while (!packets.empty()) {
        for (unsigned attempt = 0; attempt < attempts && !packets.empty(); ++attempt) {
            if (attempt != 0) std::this_thread::yield();
            packets = packets.subspan(port_.transmit(packets));
        }
        const auto next = std::ranges::find_if(
            packets, [&](const nic::TxPacket& packet) { return packet.to != packets[0].to; });
        const auto skipped = static_cast<std::size_t>(next - packets.begin());
        dropped_answers_ += skipped;
        packets = packets.subspan(skipped);
        // If all of them share one full queue, it has been waited for long enough.
        if (skipped != 0) attempts = further_attempts;
    }
}

void AggregatorLoop::publish() {
    const std::lock_guard lock(mutex_);
    wanted_.store(false, std::memory_order_relaxed);
    snapshot_ = {.aggregator = aggregator_.statistics(),
                 .jobs = aggregator_.jobs(),
                 .port = port_.counters(),
                 .dropped_answers = dropped_answers_};
    ++publications_;
    changed_.notify_all();
}

LoopStatistics AggregatorLoop::statistics() {
    std::unique_lock lock(mutex_);
    if (state_ == State::running) {
        const std::uint64_t before = publications_;
        wanted_.store(true, std::memory_order_relaxed);
        changed_.wait(lock, [&] { return publications_ != before || state_ == State::ended; });
    }
    return snapshot_;
}

bool AggregatorLoop::drain(std::chrono::milliseconds patience) {
    draining_.store(true, std::memory_order_relaxed);
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return state_ == State::ended; });
}

}  // namespace sumwire::aggregator
