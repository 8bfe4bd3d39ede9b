#include "nic/composite_port.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace sumwire::nic {
namespace {

// How long to listen to one member alone: what bounds the delay of the others' packets.
constexpr std::chrono::microseconds slice{100};
// How long to sleep where some member cannot tell that packets came.
constexpr std::chrono::microseconds longest_nap{50};
constexpr std::chrono::microseconds shortest_wait{1};
constexpr std::size_t max_run = 64;

class CompositeRegion final : public MemoryRegion {
  public:
    explicit CompositeRegion(std::vector<std::unique_ptr<MemoryRegion>> regions)
        : regions_(std::move(regions)) {}

    std::uint32_t in_flight() const override {
        std::uint32_t sum = 0;
        for (const auto& region : regions_)
            sum += region ? region->in_flight() : 0;
        return sum;
    }

    MemoryRegion* of(std::size_t member) const { return regions_[member].get(); }

  private:
    std::vector<std::unique_ptr<MemoryRegion>> regions_;
};

std::size_t smallest_bound(std::size_t a, std::size_t b) {
    if (a == 0 || b == 0) return a + b;
    return std::min(a, b);
}

}  // namespace

CompositePort::CompositePort(std::vector<std::unique_ptr<PacketPort>> members)
    : members_(std::move(members)) {
    if (members_.empty()) {
        throw SetupError("a composite port needs members; join port texts with \" + \"");
    }
    if (members_.size() > UINT16_MAX) throw SetupError("a composite port has too many members");
    info_ = members_[0]->info();
    for (std::size_t i = 1; i < members_.size(); ++i) {
        const auto* nested = dynamic_cast<const CompositePort*>(members_[i].get());
        if (nested != nullptr) throw SetupError("a composite port cannot hold another one");
        add_to_info(members_[i]->info());
    }
    for (const auto& member : members_) {
        const int descriptor = member->info().arrivals_descriptor;
        if (descriptor >= 0) descriptors_.push_back({descriptor, POLLIN, 0});
    }
    if (descriptors_.size() != members_.size()) descriptors_.clear();
    info_.arrivals_descriptor = -1;
}

void CompositePort::add_to_info(const PortInfo& member) {
    info_.max_datagram = std::min(info_.max_datagram, member.max_datagram);
    info_.detects_corruption = info_.detects_corruption && member.detects_corruption;
    info_.receive_capacity = smallest_bound(info_.receive_capacity, member.receive_capacity);
    info_.signals_arrivals = info_.signals_arrivals && member.signals_arrivals;
    info_.description += " + " + member.description;
}

std::size_t CompositePort::transmit(std::span<const TxPacket> burst) {
    std::array<TxPacket, max_run> run;
    std::size_t taken = 0;
    while (taken < burst.size()) {
        const std::size_t link = burst[taken].to.link;
        if (link >= members_.size()) {
            ++taken;
            continue;
        }
        std::size_t length = 0;
        while (length < max_run && taken + length < burst.size() &&
               burst[taken + length].to.link == link) {
            TxPacket& packet = run[length];
            packet = burst[taken + length];
            packet.to.link = 0;
            if (packet.region != nullptr) {
                packet.region = static_cast<CompositeRegion*>(packet.region)->of(link);
            }
            ++length;
        }
        const std::size_t sent = members_[link]->transmit(std::span(run).first(length));
        taken += sent;
        if (sent < length) break;
    }
    refused_.would_block(burst.size() - taken);
    return taken;
}

std::size_t CompositePort::receive(std::span<RxPacket> burst) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < members_.size() && count < burst.size(); ++i) {
        const std::size_t member = (next_to_receive_ + i) % members_.size();
        const auto room = burst.subspan(count);
        const std::size_t received = members_[member]->receive(room);
        for (RxPacket& packet : room.first(received)) {
            packet.from.link = static_cast<std::uint16_t>(member);
        }
        count += received;
    }
    next_to_receive_ = (next_to_receive_ + 1) % members_.size();
    drained_ = count < burst.size();
    return count;
}

void CompositePort::release(std::span<const RxPacket> packets) {
    while (!packets.empty()) {
        const std::uint16_t link = packets[0].from.link;
        std::size_t length = 1;
        while (length < packets.size() && packets[length].from.link == link)
            ++length;
        members_[link]->release(packets.first(length));
        packets = packets.subspan(length);
    }
}

void CompositePort::wait(std::chrono::microseconds timeout) {
    if (members_.size() == 1) return members_[0]->wait(timeout);
    // Members may hold what they have taken from their descriptor and not yet handed out.
    if (!drained_ || timeout.count() <= 0) return;
    if (!descriptors_.empty()) {
        poll(timeout);
    } else if (!info_.signals_arrivals) {
        nap(timeout);
    } else {
        listen_in_turn(timeout);
    }
}

void CompositePort::poll(std::chrono::microseconds timeout) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
    const std::chrono::nanoseconds rest = timeout - seconds;
    const timespec relative{seconds.count(), rest.count()};
    if (ppoll(descriptors_.data(), descriptors_.size(), &relative, nullptr) <= 0) return;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        // A member knows how to clear an error of its descriptor, which would end every wait.
        if ((descriptors_[i].revents & POLLERR) != 0) members_[i]->wait(shortest_wait);
    }
}

void CompositePort::nap(std::chrono::microseconds timeout) {
    const auto blind = std::ranges::find_if(
        members_, [](const auto& member) { return !member->info().signals_arrivals; });
    (*blind)->wait(std::min(timeout, longest_nap));
}

// Listens to each member in turn. A member that returns before its slice is over has something.
void CompositePort::listen_in_turn(std::chrono::microseconds timeout) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + timeout;
    for (auto now = Clock::now(); now < end;) {
        const auto left = std::chrono::ceil<std::chrono::microseconds>(end - now);
        const auto share = std::min(slice, left);
        members_[next_to_wait_]->wait(share);
        next_to_wait_ = (next_to_wait_ + 1) % members_.size();
        const auto after = Clock::now();
        if (after - now < share) return;
        now = after;
    }
}

std::unique_ptr<MemoryRegion> CompositePort::register_memory(std::span<std::byte> memory) {
    std::vector<std::unique_ptr<MemoryRegion>> regions;
    for (const auto& member : members_)
        regions.push_back(member->register_memory(memory));
    if (std::ranges::all_of(regions, [](const auto& region) { return region == nullptr; })) {
        return nullptr;
    }
    return std::make_unique<CompositeRegion>(std::move(regions));
}

PortCounters CompositePort::counters() const {
    PortCounters sum = refused_.read();
    for (const auto& member : members_) {
        const PortCounters counters = member->counters();
        sum.tx_packets += counters.tx_packets;
        sum.tx_bytes += counters.tx_bytes;
        sum.rx_packets += counters.rx_packets;
        sum.rx_bytes += counters.rx_bytes;
        sum.rx_malformed += counters.rx_malformed;
    }
    return sum;
}

}  // namespace sumwire::nic
