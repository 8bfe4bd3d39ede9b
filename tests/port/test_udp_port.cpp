// What is particular to kernel sockets.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "nic/udp/udp_port.h"
#include "nic/udp/udp_socket.h"
#include "nic/udp/udp_transmitter.h"
#include "tests/port/traffic.h"

namespace sumwire::nic {
namespace {

constexpr std::uint32_t loopback = 0x7f000001;

UdpPortOptions on_loopback() {
    UdpPortOptions options;
    options.bind.address = loopback;
    return options;
}

// Another program's socket.
class PlainSocket {
  public:
    PlainSocket() : fd_(socket(AF_INET, SOCK_DGRAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(loopback);
        bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
        timeval timeout{10, 0};
        setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    }
    ~PlainSocket() { close(fd_); }
    PlainSocket(const PlainSocket&) = delete;
    PlainSocket& operator=(const PlainSocket&) = delete;

    Endpoint local() const {
        sockaddr_in address{};
        socklen_t size = sizeof address;
        getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
        return {ntohl(address.sin_addr.s_addr), ntohs(address.sin_port), 0};
    }
    std::vector<std::byte> receive() {
        std::vector<std::byte> datagram(65536);
        const ssize_t size = recv(fd_, datagram.data(), datagram.size(), 0);
        datagram.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
        return datagram;
    }
    void send(const Endpoint& to, std::span<const std::byte> datagram) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(to.port);
        address.sin_addr.s_addr = htonl(to.address);
        sendto(fd_, datagram.data(), datagram.size(), 0,
               reinterpret_cast<const sockaddr*>(&address), sizeof address);
    }

  private:
    int fd_;
};

class UdpOffload : public ::testing::TestWithParam<bool> {};

// A run that the port hands to the kernel as one is separate datagrams for everybody else.
TEST_P(UdpOffload, AnotherProgramSeesPlainDatagrams) {
    UdpPortOptions options = on_loopback();
    options.mtu = 1500;
    options.offload = GetParam();
    UdpPort port(options);
    PlainSocket other;
    std::vector<Message> messages;
    for (std::uint32_t i = 0; i < 50; ++i)
        messages.push_back(make_message(i, i == 40 ? 100 : 1000));
    std::vector<TxPacket> packets;
    for (const Message& message : messages)
        packets.push_back(message.to(other.local()));
    ASSERT_EQ(port.transmit(packets), packets.size());
    for (const Message& message : messages)
        EXPECT_TRUE(message.equals(other.receive()));

    other.send(port.info().local, messages[0].payload);
    RxPacket received;
    ASSERT_TRUE(poll_until([&] {
        port.wait(std::chrono::milliseconds(10));
        return port.receive({&received, 1}) == 1;
    }));
    EXPECT_EQ(received.from, other.local());
    EXPECT_TRUE(std::ranges::equal(received.datagram, messages[0].payload));
    port.release({&received, 1});
}

INSTANTIATE_TEST_SUITE_P(Udp, UdpOffload, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "on" : "off"; });

TEST(UdpPort, TakesTheLargestDatagramFromThePath) {
    UdpPortOptions options;
    options.peer = Endpoint{loopback, 9, 0};
    const UdpPort client(options);
    EXPECT_EQ(client.info().max_datagram, 65507U);  // the loopback's MTU is 65536
    EXPECT_EQ(client.info().local.address, loopback);
    options.mtu = 1500;
    EXPECT_EQ(UdpPort(options).info().max_datagram, 1472U);
    EXPECT_GT(client.info().receive_capacity, 0U);
}

TEST(UdpPort, APortInUseIsNamedWithTheRemedy) {
    const UdpPort first(on_loopback());
    UdpPortOptions options = on_loopback();
    options.bind = first.info().local;
    try {
        const UdpPort second(options);
        FAIL() << "bound twice";
    } catch (const SetupError& error) {
        const std::string what = error.what();
        EXPECT_NE(what.find(to_string(first.info().local)), std::string::npos) << what;
        EXPECT_NE(what.find("choose another port"), std::string::npos) << what;
    }
}

TEST(UdpPort, AnAddressOfNobodyIsNamedWithTheRemedy) {
    UdpPortOptions options;
    options.bind.address = 0xc0000201;  // 192.0.2.1, for documentation only
    try {
        const UdpPort port(options);
        FAIL() << "bound";
    } catch (const SetupError& error) {
        EXPECT_NE(std::string(error.what()).find("ip -4 addr"), std::string::npos) << error.what();
    }
}

TEST(UdpPort, PeersThatAreGoneDoNotDisturb) {
    UdpPort port(on_loopback());
    UdpPort other(on_loopback());
    Endpoint gone;
    {
        const UdpPort third(on_loopback());
        gone = third.info().local;
    }
    const auto messages = make_messages(100, 64);
    for (const Message& message : messages) {
        const std::array<TxPacket, 2> burst{message.to(gone), message.to(other.info().local)};
        std::size_t taken = 0;
        while (taken < burst.size())
            taken += port.transmit(std::span(burst).subspan(taken));
        RxPacket received;
        ASSERT_TRUE(poll_until([&] {
            other.wait(std::chrono::milliseconds(10));
            return other.receive({&received, 1}) == 1;
        }));
        EXPECT_TRUE(message.equals(received.datagram));
        other.release({&received, 1});
    }
}

// Without checksums the kernel refuses to segment: datagrams go one by one, and none is lost.
TEST(UdpTransmitter, GoesOnWithoutSegmentationWhereTheKernelRefusesIt) {
    UdpSocket socket({loopback, 0, 0});
    if (!socket.can_segment()) GTEST_SKIP() << "this kernel has no UDP_SEGMENT; use 4.18 or later";
    socket.omit_checksums();
    LivePortCounters counters;
    UdpTransmitter transmitter(socket.fd(), 1472, true, counters);
    UdpPort receiver(on_loopback());
    const auto messages = make_messages(100, 200);
    std::vector<TxPacket> packets;
    for (const Message& message : messages)
        packets.push_back(message.to(receiver.info().local));
    for (int round = 0; round < 2; ++round) {
        ASSERT_EQ(transmitter.transmit(packets), packets.size());
        for (const Message& message : messages) {
            RxPacket packet;
            ASSERT_TRUE(poll_until([&] { return receiver.receive({&packet, 1}) == 1; }));
            EXPECT_TRUE(message.equals(packet.datagram));
            receiver.release({&packet, 1});
        }
    }
    EXPECT_EQ(counters.read().tx_packets, 200U);
}

// All buffers are with the caller: the port neither spins nor forgets.
TEST(UdpPort, HoldingEveryBufferOnlyPauses) {
    UdpPortOptions options = on_loopback();
    options.mtu = 1500;
    options.offload = false;
    UdpPort sender(options);
    UdpPort receiver(options);
    const auto messages = make_messages(700, 16);
    std::vector<RxPacket> held;
    std::size_t sent = 0;
    ASSERT_TRUE(poll_until([&] {
        const std::size_t ahead = std::min<std::size_t>(sent + 16, messages.size());
        for (; sent < ahead; ++sent) {
            const TxPacket packet = messages[sent].to(receiver.info().local);
            if (sender.transmit({&packet, 1}) == 0) break;
        }
        RxPacket packet;
        while (receiver.receive({&packet, 1}) == 1)
            held.push_back(packet);
        receiver.wait(std::chrono::microseconds(100));
        return sent == messages.size() && held.size() >= 512;
    }));
    EXPECT_EQ(held.size(), 512U);
    receiver.release(held);
    for (std::size_t i = 512; i < messages.size(); ++i) {
        RxPacket packet;
        ASSERT_TRUE(poll_until([&] { return receiver.receive({&packet, 1}) == 1; }));
        EXPECT_TRUE(messages[i].equals(packet.datagram));
        receiver.release({&packet, 1});
    }
}

}  // namespace
}  // namespace sumwire::nic
