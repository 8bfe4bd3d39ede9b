#include "tests/simulation/virtual_network.h"

#include <algorithm>
#include <utility>

#include "nic/wire.h"

namespace sumwire::simulation {

bool VirtualNetwork::happens(double probability) {
    return probability > 0 && std::uniform_real_distribution<>(0, 1)(random_) < probability;
}

bool VirtualNetwork::cut_off(const nic::Endpoint& node, Time now) const {
    return std::ranges::any_of(partitions_, [&](const Partition& partition) {
        return partition.node == node && partition.begin <= now && now < partition.end;
    });
}

VirtualNetwork::Pace& VirtualNetwork::pace_of(const nic::Endpoint& node) {
    const auto known = std::ranges::find(paces_, node, &Pace::node);
    return known != paces_.end() ? *known : paces_.emplace_back(Pace{.node = node});
}

void VirtualNetwork::send(const nic::Endpoint& from, const nic::Endpoint& to,
                          std::span<const std::byte> header, std::span<const std::byte> payload,
                          Time now) {
    if (cut_off(from, now) || cut_off(to, now)) return;
    Time leaves = now;
    Time takes{};
    if (faults_.bytes_per_second > 0) {
        const auto bytes =
            static_cast<double>(nic::network_header_bytes + header.size() + payload.size());
        takes = std::chrono::duration_cast<Time>(
            std::chrono::duration<double>(bytes / faults_.bytes_per_second));
        Pace& sender = pace_of(from);
        if (sender.sent > now + faults_.longest_queue) return;
        sender.sent = std::max(sender.sent, now) + takes;
        leaves = sender.sent;
    }
    if (happens(faults_.loss)) return;
    const int copies = happens(faults_.duplication) ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
        Time due = leaves + faults_.delay;
        if (faults_.bytes_per_second > 0) {
            Pace& receiver = pace_of(to);
            if (receiver.received > due + faults_.longest_queue) continue;
            receiver.received = std::max(receiver.received, due) + takes;
            due = receiver.received;
        }
        if (happens(faults_.reordering)) {
            due += Time(static_cast<Time::rep>(
                random_() %
                static_cast<std::uint64_t>(std::max<Time::rep>(faults_.detour.count(), 1))));
        }
        Arrival arrival{.due = due,
                        .order = order_++,
                        .from = from,
                        .to = to,
                        .bytes = {header.begin(), header.end()}};
        arrival.bytes.insert(arrival.bytes.end(), payload.begin(), payload.end());
        if (happens(faults_.corruption)) {
            arrival.bytes[random_() % arrival.bytes.size()] ^=
                static_cast<std::byte>(1U << (random_() % 8));
        }
        under_way_.push(std::move(arrival));
    }
}

Time VirtualNetwork::next_arrival() const {
    return under_way_.empty() ? never : under_way_.top().due;
}

Arrival VirtualNetwork::take() {
    Arrival next = under_way_.top();
    under_way_.pop();
    return next;
}

}  // namespace sumwire::simulation
