// The Address Resolution Protocol (RFC 826) for IPv4 over Ethernet: packets, and one host's table
// and answers. Pure: packets and time in, packets out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nic/dpdk/frame.h"
#include "nic/dpdk/neighbor.h"
#include "nic/time.h"

namespace sumwire::nic {

struct ArpPacket {
    bool request = false;  // otherwise a reply
    MacAddress sender_mac{};
    std::uint32_t sender = 0;  // host byte order, like every address here
    MacAddress target_mac{};   // zero in requests
    std::uint32_t target = 0;

    bool operator==(const ArpPacket&) const = default;
};

inline constexpr std::size_t arp_frame_bytes = min_frame_bytes;

// A whole frame, padded: requests are broadcast, replies go to the target.
void write_arp_frame(const ArpPacket& packet, std::span<std::byte, arp_frame_bytes> out);

// Empty unless the frame is an ARP request or reply for IPv4 over Ethernet.
std::optional<ArpPacket> read_arp_frame(std::span<const std::byte> frame);

struct ArpHost {
    std::uint32_t address = 0;
    MacAddress mac{};
    unsigned prefix_length = 24;
    std::optional<std::uint32_t> gateway;  // for addresses off the subnet
    std::vector<Neighbor> neighbors;       // never asked for, never changed
};

// Who has which MAC address. Bounded: 2,048 neighbours. Addresses that this host sends to may push
// out each other by age and those of strangers (who only sent to us); strangers push out strangers
// alone, and hold at most half of the table.
//
// There is no queue: what is sent to an address that is not resolved yet is lost, and the protocol
// above sends it again.
class ArpTable {
  public:
    // Throws SetupError if there are more neighbours than the table holds, or a gateway off the
    // subnet.
    explicit ArpTable(const ArpHost& host);

    struct Resolution {
        const MacAddress* mac = nullptr;  // valid until the next call; null: not known (yet)
        std::optional<ArpPacket> ask;     // to be sent now
    };
    // Where to send a frame for `address`. Asks again every 100 ms, after ten questions every
    // second; asks again about a neighbour that was silent for a minute, and goes on using it.
    // Addresses that no neighbour can have (broadcast, multicast, off the subnet without a gateway)
    // are not asked for.
    Resolution resolve(std::uint32_t address, Time now);

    // Learns from a packet; the answer, if it asks for us. Announcements and replies change what is
    // known or was asked for, and nothing else.
    std::optional<ArpPacket> receive(const ArpPacket& packet, Time now);

    // Learns from a frame of another kind.
    void heard(std::uint32_t address, const MacAddress& mac, Time now);

  private:
    enum class Kind : std::uint8_t { empty, stranger, wanted, fixed };
    struct Entry {
        std::uint32_t address = 0;
        MacAddress mac{};
        Kind kind = Kind::empty;
        bool known = false;
        std::uint8_t questions = 0;  // since the last answer
        Time asked{};
        Time confirmed{};
        Time used{};
    };
    static constexpr std::size_t sets = 256;
    static constexpr std::size_t ways = 8;
    using Set = std::array<Entry, ways>;

    bool on_subnet(std::uint32_t address) const;
    bool is_neighbor(std::uint32_t address) const;
    Set& set_of(std::uint32_t address);
    Entry* find(std::uint32_t address);
    Entry* insert(std::uint32_t address, Kind kind, Time now);
    void learn(std::uint32_t address, const MacAddress& mac, bool from_stranger, Time now);
    bool due(const Entry& entry, Time now) const;

    std::uint32_t address_;
    MacAddress mac_;
    std::uint32_t mask_;
    std::optional<std::uint32_t> gateway_;
    std::vector<Set> table_;
};

}  // namespace sumwire::nic
