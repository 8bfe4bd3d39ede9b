// memif between processes: who comes first, and who dies.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <functional>
#include <optional>

#include "tests/port/dpdk/child.h"
#include "tests/port/dpdk/links.h"
#include "tests/port/traffic.h"

namespace sumwire::nic {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

DpdkPortOptions memif(const char* role, const std::string& socket, std::uint32_t ip) {
    return options_of(
        fmt::format("net_memif0,role={},id=0,socket={},socket-abstract=yes", role, socket), ip);
}

std::string fresh_socket() {
    return fmt::format("sw-memif-{}", getpid());
}

// Sends back whatever comes, until `enough`.
void echo(PacketPort& port, const std::function<bool()>& enough) {
    while (!enough()) {
        std::array<RxPacket, 32> burst;
        const std::size_t count = port.receive(burst);
        for (const RxPacket& packet : std::span(burst).first(count)) {
            const TxPacket back{.to = packet.from,
                                .header = std::span(packet.datagram).first(header_bytes),
                                .payload = std::span(packet.datagram).subspan(header_bytes),
                                .region = nullptr};
            port.transmit({&back, 1});
        }
        port.release(std::span(burst).first(count));
        if (count == 0) port.wait(50us);
    }
}

bool never() {
    return false;
}

// Sends messages and takes answers until so many have come back, or it is over.
std::string exchange(PacketPort& port, std::size_t wanted,
                     const std::function<bool()>& over = never) {
    const auto messages = make_messages(64, 512);
    std::vector<TxPacket> packets;
    for (const Message& message : messages)
        packets.push_back(message.to({left_address, test_port, 0}));
    std::size_t answers = 0;
    const bool done = poll_until([&] {
        port.transmit(packets);
        std::array<RxPacket, 64> burst;
        const std::size_t count = port.receive(burst);
        answers += count;
        port.release(std::span(burst).first(count));
        return answers >= wanted || over();
    });
    return done ? "" : fmt::format("{} answers", answers);
}

TEST(Memif, AClientWithoutServerIsTold) {
    Child child([]() -> std::string {
        try {
            make_dpdk_port(memif("client", fresh_socket(), right_address));
        } catch (const SetupError& error) {
            return error.what();
        }
        return "accepted";
    });
    EXPECT_THAT(child.report(), HasSubstr("role=server first"));
}

TEST(Memif, AServerIsReadyBeforeItsClient) {
    Child child([]() -> std::string {
        const auto port = make_dpdk_port(memif("server", fresh_socket(), left_address));
        const Message message = make_message(0, 64);
        const TxPacket packet = message.to({right_address, test_port, 0});
        const std::vector<TxPacket> burst(100, packet);
        // Nobody is there: taken and dropped, never "would block".
        return poll_until([&] { return port->transmit(burst) == burst.size(); }) ? "" : "blocks";
    });
    EXPECT_THAT(child.report(), IsEmpty());
}

// Clients come, work and die in the middle of it, one after another and several at once.
TEST(Memif, AServerOutlivesItsClients) {
    constexpr std::size_t rounds = 12;
    const std::string socket = fresh_socket();
    Child server([&]() -> std::string {
        const auto port = make_dpdk_port(memif("server", socket, left_address));
        const auto end = std::chrono::steady_clock::now() + 2min;
        echo(*port, [&] { return std::chrono::steady_clock::now() > end; });
        return "";
    });
    for (std::size_t round = 0; round < rounds; ++round) {
        Child client([&] {
            const auto port = make_dpdk_port(memif("client", socket, right_address));
            const std::string result = exchange(*port, 2000);
            if (!result.empty() || round % 2 == 0) return result;
            _exit(0);  // without closing anything
        });
        const std::string report = client.report();
        EXPECT_THAT(report, testing::AnyOf("", "ended with status 0")) << "round " << round;
    }
}

TEST(Memif, AClientFindsARestartedServer) {
    const std::string socket = fresh_socket();
    const auto serve = [&]() -> std::string {
        const auto port = make_dpdk_port(memif("server", socket, left_address));
        echo(*port, never);
        return "";
    };
    std::optional<Child> server(std::in_place, serve);
    std::array<int, 2> working;
    std::array<int, 2> restarted;
    ASSERT_EQ(pipe(working.data()), 0);
    ASSERT_EQ(pipe2(restarted.data(), O_NONBLOCK), 0);
    Child client([&]() -> std::string {
        const auto port = make_dpdk_port(memif("client", socket, right_address));
        const std::string first = exchange(*port, 100);
        if (!first.empty()) return first;
        if (write(working[1], "x", 1) != 1) return "no pipe";
        exchange(*port, SIZE_MAX, [&] {
            char sign;
            return read(restarted[0], &sign, 1) == 1;
        });
        return exchange(*port, 3000);
    });
    char sign;
    ASSERT_EQ(read(working[0], &sign, 1), 1);
    server.emplace(serve);
    ASSERT_EQ(write(restarted[1], "x", 1), 1);
    EXPECT_THAT(client.report(), IsEmpty());
    for (const int end : {working[0], working[1], restarted[0], restarted[1]})
        close(end);
}

// Holds from a moment after the first packet has come, or when none comes.
std::function<bool()> a_moment_after_the_first(const PacketPort& port) {
    const auto start = std::chrono::steady_clock::now();
    return
        [&port, start, first = std::optional<std::chrono::steady_clock::time_point>()]() mutable {
            const auto now = std::chrono::steady_clock::now();
            if (!first && port.counters().rx_packets > 0) first = now;
            return first ? now - *first > 200ms : now - start > patience;
        };
}

// Both ends of a link close at about the same moment, in the middle of work.
TEST(Memif, EndsMayCloseTogether) {
    for (int round = 0; round < 6; ++round) {
        const std::string socket = fresh_socket() + std::to_string(round);
        Child server([&]() -> std::string {
            const auto port = make_dpdk_port(memif("server", socket, left_address));
            echo(*port, a_moment_after_the_first(*port));
            return port->counters().rx_packets > 0 ? "" : "the server heard nothing";
        });
        Child client([&]() -> std::string {
            const auto port = make_dpdk_port(memif("client", socket, right_address));
            exchange(*port, SIZE_MAX, a_moment_after_the_first(*port));
            return port->counters().rx_packets > 0 ? "" : "the client heard nothing";
        });
        EXPECT_THAT(client.report(), IsEmpty());
        EXPECT_THAT(server.report(), IsEmpty());
    }
}

}  // namespace
}  // namespace sumwire::nic
