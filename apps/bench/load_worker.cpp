#include "apps/bench/load_worker.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "nic/control.h"
#include "nic/wire.h"

namespace sumwire::apps {
namespace {

using namespace std::chrono_literals;

constexpr Time resend_after = 100ms;
constexpr auto idle_limit = 1000us;
constexpr Time join_interval = 50ms;

}  // namespace

LoadWorker::LoadWorker(nic::PacketPort& port, const nic::Endpoint& aggregator, unsigned rank,
                       const AggregatorLoad& load, nic::IdleStrategy idle)
    : port_(port),
      aggregator_(aggregator),
      rank_(rank),
      load_(load),
      idle_(idle),
      nonce_(static_cast<std::uint64_t>(steady_now().count())) {
    const auto needed = nic::header_bytes + load.spec().payload_bytes;
    if (port_.info().max_datagram < needed)
        throw nic::SetupError(fmt::format(
            "{} carries datagrams of at most {} bytes, a payload of {} needs {}; choose "
            "a smaller --payload or a larger MTU",
            port_.info().description, port_.info().max_datagram, load.spec().payload_bytes,
            needed));
    region_ = port_.register_memory(load.memory());
}

void LoadWorker::join(Time deadline) {
    const auto datagram = join_datagram(load_.spec(), rank_, nonce_);
    while (steady_now() < deadline) {
        send(datagram);
        const auto again = steady_now() + join_interval;
        while (steady_now() < again) {
            if (receive_welcome(datagram.size())) return;
            port_.wait(idle_limit);
        }
    }
    throw std::runtime_error(fmt::format(
        "rank {}: the aggregator at {} did not answer a join of {} bytes; check that it "
        "runs and that the path carries that size",
        rank_, to_string(aggregator_), datagram.size()));
}

bool LoadWorker::receive_welcome(std::size_t sent_bytes) {
    std::array<nic::RxPacket, burst> packets;
    const auto received = std::span(packets).first(port_.receive(packets));
    bool welcome = false;
    std::string refusal;
    for (const auto& packet : received) {
        const auto header = nic::read_header(packet.datagram);
        if (!header || header->rank != rank_) continue;
        const auto payload = std::span<const std::byte>(packet.datagram).subspan(nic::header_bytes);
        if (const auto text = header->type == nic::PacketType::refused ? nic::read_refused(payload)
                                                                       : std::nullopt)
            refusal = text->text;
        if (header->type != nic::PacketType::welcome || packet.datagram.size() < sent_bytes)
            continue;
        const auto answer = nic::read_welcome(payload);
        if (!answer || answer->nonce != nonce_) continue;
        session_ = header->session;
        welcome = true;
    }
    port_.release(received);
    if (!refusal.empty())
        throw std::runtime_error(
            fmt::format("rank {}: the aggregator refused: {}", rank_, refusal));
    return welcome;
}

bool LoadWorker::send(std::span<const std::byte> datagram) {
    const nic::TxPacket packet{.to = aggregator_,
                               .header = datagram.first(nic::header_bytes),
                               .payload = datagram.subspan(nic::header_bytes)};
    return port_.transmit({&packet, 1}) == 1;
}

LoadWorkerResult LoadWorker::run(LoadSchedule& schedule) {
    slots_.assign(load_.spec().slots, {});
    queue_.reserve(slots_.size());
    result_.latency_ns.reserve(1U << 20U);
    for (unsigned slot = 0; slot < slots_.size(); ++slot) {
        slots_[slot].sequence = slot;
        queue(slot);
    }
    highest_sequence_ = load_.spec().slots - 1;
    in_flight_ = load_.spec().slots;
    Time next_check = steady_now() + resend_after;
    while (in_flight_ > 0) {
        const bool sent = transmit();
        const bool received = receive(schedule);
        if (sent || received)
            idle_.reset();
        else
            idle_.idle(port_, idle_limit);
        if (const auto now = steady_now(); now >= next_check) {
            if (schedule.cancelled) break;
            resend_overdue(now);
            next_check = now + resend_after / 4;
        }
    }
    return std::move(result_);
}

void LoadWorker::leave() {
    send(leave_datagram(rank_, session_));
}

void LoadWorker::queue(unsigned slot) {
    slots_[slot].queued = true;
    queue_.push_back(slot);
}

bool LoadWorker::transmit() {
    if (queue_.empty()) return false;
    std::array<std::array<std::byte, nic::header_bytes>, burst> headers;
    std::array<nic::TxPacket, burst> packets;
    const auto count = std::min(queue_.size(), burst);
    for (std::size_t i = 0; i < count; ++i) {
        const auto header = load_.header(slots_[queue_[i]].sequence, rank_, session_);
        nic::write_header(header, headers[i]);
        packets[i] = {.to = aggregator_,
                      .header = headers[i],
                      .payload = load_.payload(header.slot_version, header.slot, rank_),
                      .region = region_.get()};
    }
    const auto now = steady_now();
    const auto sent = port_.transmit(std::span(packets).first(count));
    for (std::size_t i = 0; i < sent; ++i) {
        auto& slot = slots_[queue_[i]];
        if (!slot.in_flight) slot.first_sent = now;
        slot.last_sent = now;
        slot.in_flight = true;
        slot.queued = false;
    }
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(sent));
    return sent > 0;
}

bool LoadWorker::receive(LoadSchedule& schedule) {
    std::array<nic::RxPacket, burst> packets;
    const auto received = std::span(packets).first(port_.receive(packets));
    if (received.empty()) return false;
    const auto now = steady_now();
    for (const auto& packet : received)
        take(packet, now, schedule);
    port_.release(received);
    return true;
}

void LoadWorker::take(const nic::RxPacket& packet, Time now, LoadSchedule& schedule) {
    const auto header = nic::read_header(packet.datagram);
    if (!header || header->session != session_) return;
    if (header->type == nic::PacketType::peer_lost)
        throw std::runtime_error(fmt::format("rank {}: the aggregator lost a rank", rank_));
    if (header->slot >= slots_.size()) return;
    auto& slot = slots_[header->slot];
    if (!slot.in_flight || slot.queued || header->sequence != slot.sequence) return;
    if (header->type == nic::PacketType::pending) slot.last_sent = now;
    if (header->type != nic::PacketType::result) return;
    const auto payload = std::span<const std::byte>(packet.datagram).subspan(nic::header_bytes);
    result_.exact &=
        std::ranges::equal(payload, load_.expected(header->slot_version, header->slot));
    complete(header->slot, now, schedule);
}

void LoadWorker::complete(unsigned slot, Time now, LoadSchedule& schedule) {
    auto& state = slots_[slot];
    if (now >= schedule.measure_from && now < schedule.measure_until) {
        ++result_.results;
        result_.latency_ns.push_back(static_cast<std::uint32_t>(
            std::min<Time::rep>((now - state.first_sent).count(), UINT32_MAX)));
    }
    if (rank_ == 0 && now >= schedule.measure_until &&
        schedule.end_sequence.load(std::memory_order_relaxed) == UINT32_MAX)
        schedule.end_sequence = highest_sequence_ + 2 * load_.spec().slots;

    state.in_flight = false;
    const auto next = state.sequence + load_.spec().slots;
    if (next >= schedule.end_sequence) {
        --in_flight_;
        return;
    }
    state.sequence = next;
    highest_sequence_ = std::max(highest_sequence_, next);
    queue(slot);
}

void LoadWorker::resend_overdue(Time now) {
    for (unsigned slot = 0; slot < slots_.size(); ++slot) {
        const auto& state = slots_[slot];
        if (!state.in_flight || state.queued || now - state.last_sent < resend_after) continue;
        ++result_.retransmissions;
        queue(slot);
    }
}

}  // namespace sumwire::apps
