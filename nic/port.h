// The packet port: moves bursts of datagrams between memory and one network.
//
// One small interface, called once per burst, behind which stand the in-process network, kernel UDP
// sockets and DPDK. A port carries whole UDP payloads (Sumwire header and what follows); Ethernet,
// IP and UDP are the port's own business.
//
// Threads: one thread at a time uses a port. register_memory and counters may be called from any.
// Errors: construction throws SetupError with the remedy. transmit and receive never throw, block,
// allocate or log; "would block" is a return value. A datagram that a network drops is not an
// error.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "nic/endpoint.h"

namespace sumwire::nic {

// A port, or what it needs, cannot be set up. The message names the remedy.
class SetupError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Memory that a port may read while a packet is on its way, and the proof that it is registered.
// Destruction waits for borrowed packets, two seconds at most, then deregisters; it never throws.
class MemoryRegion {
  public:
    virtual ~MemoryRegion() = default;
    // Packets that still borrow from this region. Thread-safe.
    virtual std::uint32_t in_flight() const = 0;
};

struct TxPacket {
    Endpoint to;
    std::span<const std::byte> header;   // copied by transmit
    std::span<const std::byte> payload;  // see region
    // Null: transmit copies the payload, which is the caller's again on return.
    // Otherwise the payload lies in this region of this port and is borrowed until in_flight()
    // falls to zero: the network may read it until then. Changing it meanwhile changes what is
    // sent.
    MemoryRegion* region = nullptr;
};

struct RxPacket {
    Endpoint from;
    // The caller's, to read and to write, until release. At any alignment.
    std::span<std::byte> datagram;
    void* buffer = nullptr;  // the port's own handle
};

struct PortInfo {
    Endpoint local;
    // Largest datagram (Sumwire header and payload) that fits the MTU unfragmented.
    std::size_t max_datagram = 0;
    // The network under this port detects corrupted payloads and drops them.
    bool detects_corruption = false;
    // Bytes of datagrams that wait for receive before further ones are dropped, about; 0: unknown,
    // or nothing is dropped. More than this under way towards the port costs retransmissions.
    std::size_t receive_capacity = 0;
    // "net_memif0 (memory, no network)" and the like, for banners and logs.
    std::string description;
    // wait ends when a packet comes. False: it naps for a moment and returns, blind to what comes.
    bool signals_arrivals = true;
    // A file descriptor that is readable while packets wait for receive, for who waits on several
    // ports at once; -1: there is none.
    int arrivals_descriptor = -1;
};

// Monotonic since construction. Bytes are datagrams plus network_header_bytes each.
struct PortCounters {
    std::uint64_t tx_packets = 0;
    std::uint64_t tx_bytes = 0;
    std::uint64_t rx_packets = 0;
    std::uint64_t rx_bytes = 0;
    std::uint64_t tx_would_block = 0;  // packets that transmit did not accept
    std::uint64_t rx_malformed = 0;    // frames that were no datagram for us, or damaged
};

class PacketPort {
  public:
    virtual ~PacketPort() = default;
    PacketPort(const PacketPort&) = delete;
    PacketPort& operator=(const PacketPort&) = delete;

    virtual const PortInfo& info() const = 0;

    // Takes a prefix of the burst and returns its length; less than all means "would block": try
    // the rest later. A datagram above max_datagram, or to an address that cannot be reached,
    // counts as taken and is dropped.
    virtual std::size_t transmit(std::span<const TxPacket> burst) = 0;

    // Fills a prefix of the burst and returns its length; 0 if nothing is there. Every packet
    // filled must be released, in any order, before the port is destroyed.
    virtual std::size_t receive(std::span<RxPacket> burst) = 0;
    virtual void release(std::span<const RxPacket> packets) = 0;

    // Returns when a packet may be there, or after the timeout; may return early for no reason.
    // The only call that may sleep.
    virtual void wait(std::chrono::microseconds timeout) = 0;

    // Registers caller-owned memory for borrowing. The memory must outlive the region, the region
    // must not outlive the port. Null where the port gains nothing from it (it then copies).
    virtual std::unique_ptr<MemoryRegion> register_memory(std::span<std::byte> memory) = 0;

    virtual PortCounters counters() const = 0;

  protected:
    PacketPort() = default;
};

}  // namespace sumwire::nic
