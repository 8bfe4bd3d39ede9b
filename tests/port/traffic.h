// Numbered messages from one port to another, checked byte by byte on arrival.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nic/port.h"
#include "nic/wire.h"

namespace sumwire::nic {

inline constexpr std::chrono::seconds patience{30};

struct Message {
    std::array<std::byte, header_bytes> header{};
    std::vector<std::byte> payload;

    std::size_t size() const { return header.size() + payload.size(); }
    bool equals(std::span<const std::byte> datagram) const;
    TxPacket to(const Endpoint& endpoint) const;
};

// A contribution with that sequence number and random bytes that depend on it.
Message make_message(std::uint32_t number, std::size_t payload_bytes);
std::vector<Message> make_messages(std::size_t count, std::size_t payload_bytes);

// The number of a datagram that make_message made.
std::uint32_t number_of(std::span<const std::byte> datagram);

// Polls until `condition` holds; false after `patience`.
template <class Condition>
bool poll_until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
    }
    return true;
}

class Traffic {
  public:
    Traffic(PacketPort& from, PacketPort& to, const Endpoint& destination, const Endpoint& source,
            bool lossless);

    // Sends all messages and receives until each has arrived; their numbers must be 0, 1, 2 and so
    // on. Fails the test where one is damaged, comes from elsewhere, or does not come.
    void deliver(const std::vector<Message>& messages);

    std::uint64_t taken() const { return taken_; }
    std::uint64_t taken_bytes() const { return taken_bytes_; }
    std::uint64_t refused() const { return refused_; }
    std::uint64_t received() const { return received_; }
    std::uint64_t received_bytes() const { return received_bytes_; }

  private:
    void transmit_some();
    bool receive_some(const std::vector<Message>& messages);
    void accept(const RxPacket& packet, const std::vector<Message>& messages);
    // What shall not arrive here: the sender's port works too (address resolution, for example).
    void poll_sender();

    PacketPort& from_;
    PacketPort& to_;
    Endpoint destination_;
    Endpoint source_;
    bool lossless_;
    std::vector<TxPacket> outgoing_;
    std::size_t next_ = 0;
    std::vector<bool> arrived_;
    std::size_t arrivals_ = 0;
    std::uint64_t taken_ = 0;
    std::uint64_t taken_bytes_ = 0;
    std::uint64_t refused_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t received_bytes_ = 0;
};

}  // namespace sumwire::nic
