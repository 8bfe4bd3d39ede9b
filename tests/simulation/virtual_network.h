// A network in virtual time: loses, duplicates, delays, damages and paces datagrams, all by a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <queue>
#include <random>
#include <span>
#include <vector>

#include "nic/endpoint.h"
#include "nic/time.h"

namespace sumwire::simulation {

struct Faults {
    double loss = 0;
    double duplication = 0;
    double corruption = 0;  // of one bit
    double reordering = 0;  // datagrams that take up to `detour` longer
    Time detour{};
    Time delay{};                                         // one way
    double bytes_per_second = 0;                          // of each node, each way; 0: no limit
    Time longest_queue = std::chrono::milliseconds(100);  // where a rate is limited; then it drops
};

// A node cut off from `begin` to `end`, both ways.
struct Partition {
    nic::Endpoint node;
    Time begin{};
    Time end{};
};

struct Arrival {
    Time due{};
    std::uint64_t order = 0;  // of sending: ties break the same way in every run
    nic::Endpoint from;
    nic::Endpoint to;
    std::vector<std::byte> bytes;
};

class VirtualNetwork {
  public:
    VirtualNetwork(const Faults& faults, std::vector<Partition> partitions, std::uint64_t seed)
        : faults_(faults), partitions_(std::move(partitions)), random_(seed) {}

    void send(const nic::Endpoint& from, const nic::Endpoint& to, std::span<const std::byte> header,
              std::span<const std::byte> payload, Time now);

    // When the next datagram arrives; never if none is under way.
    Time next_arrival() const;
    Arrival take();

  private:
    struct Later {
        bool operator()(const Arrival& a, const Arrival& b) const {
            return a.due != b.due ? a.due > b.due : a.order > b.order;
        }
    };
    // What a node has still to send, or to receive, is done by then.
    struct Pace {
        nic::Endpoint node;
        Time sent{};
        Time received{};
    };

    bool happens(double probability);
    bool cut_off(const nic::Endpoint& node, Time now) const;
    Pace& pace_of(const nic::Endpoint& node);

    Faults faults_;
    std::vector<Partition> partitions_;
    std::mt19937_64 random_;
    std::vector<Pace> paces_;
    std::uint64_t order_ = 0;
    std::priority_queue<Arrival, std::vector<Arrival>, Later> under_way_;
};

}  // namespace sumwire::simulation
