// Networks inside this process, by name.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nic/doorbell.h"
#include "nic/endpoint.h"
#include "nic/inproc/index_pool.h"
#include "nic/inproc/index_ring.h"
#include "nic/port.h"

namespace sumwire::nic {

// Where the datagrams for one port arrive. Any thread may deliver, one reads. Bounded: buffers that
// the reader holds are missing to the senders.
class Inbox {
  public:
    Inbox(const Endpoint& owner, std::size_t max_datagram, std::uint32_t buffers);

    const Endpoint& owner() const { return owner_; }
    std::size_t max_datagram() const { return max_datagram_; }

    // False if no buffer is free. The datagram must not be larger than max_datagram().
    bool deliver(const Endpoint& from, std::span<const std::byte> header,
                 std::span<const std::byte> payload);
    // Wakes the reader if it sleeps; once per burst, after the deliveries.
    void notify() { doorbell_.ring(); }

    bool take(RxPacket& packet);
    void release(const RxPacket& packet);
    void wait(std::chrono::microseconds timeout);

  private:
    struct Slot {
        Endpoint from;
        std::size_t size = 0;
    };

    std::byte* memory_of(std::uint32_t index);

    Endpoint owner_;
    std::size_t max_datagram_;
    std::size_t stride_;
    std::unique_ptr<std::byte[]> memory_;
    std::vector<Slot> slots_;
    IndexPool free_;
    IndexRing arrived_;
    Doorbell doorbell_;
};

class InprocNetwork {
  public:
    // The network of that name; it ends with the last port that uses it. Thread-safe.
    static std::shared_ptr<InprocNetwork> get(const std::string& name);

    // Adds a port; what is not asked for is chosen. Throws SetupError if the endpoint is taken.
    std::shared_ptr<Inbox> join(std::optional<std::uint32_t> address, std::uint16_t udp_port,
                                std::size_t max_datagram);
    void leave(const Inbox& inbox);

    // Changes whenever a port joins or leaves.
    std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
    // All ports, sorted by endpoint, and the generation that they are.
    std::uint64_t list(std::vector<std::shared_ptr<Inbox>>& inboxes) const;

  private:
    bool taken(const Endpoint& endpoint) const;
    bool address_taken(std::uint32_t address) const;
    Endpoint choose(std::optional<std::uint32_t> address, std::uint16_t udp_port) const;

    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<Inbox>> inboxes_;
    std::atomic<std::uint64_t> generation_ = 0;
};

}  // namespace sumwire::nic
