// Small steps that the tests of the suite share.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <span>
#include <vector>

#include "nic/port.h"
#include "tests/port/traffic.h"

namespace sumwire::nic {

// Receives exactly that many packets and keeps them; `resend` is called when nothing comes.
template <class Resend>
std::vector<RxPacket> collect(PacketPort& port, std::size_t count, Resend resend) {
    std::vector<RxPacket> packets(count);
    std::size_t have = 0;
    auto last = std::chrono::steady_clock::now();
    EXPECT_TRUE(poll_until([&] {
        const std::size_t more = port.receive(std::span(packets).subspan(have));
        have += more;
        if (more > 0) {
            last = std::chrono::steady_clock::now();
        } else {
            port.wait(std::chrono::microseconds(100));
        }
        if (have < count &&
            std::chrono::steady_clock::now() - last > std::chrono::milliseconds(50)) {
            resend();
            last = std::chrono::steady_clock::now();
        }
        return have == count;
    }));
    packets.resize(have);
    return packets;
}

inline void transmit_all(PacketPort& port, std::span<const TxPacket> packets) {
    std::size_t taken = 0;
    EXPECT_TRUE(poll_until([&] {
        taken += port.transmit(packets.subspan(taken));
        return taken == packets.size();
    }));
}

inline std::size_t discard(PacketPort& port) {
    std::array<RxPacket, 64> burst;
    const std::size_t count = port.receive(burst);
    port.release(std::span(burst).first(count));
    return count;
}

}  // namespace sumwire::nic
