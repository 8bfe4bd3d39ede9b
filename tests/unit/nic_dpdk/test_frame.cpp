#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "nic/dpdk/frame.h"
#include "tests/unit/nic/bytes.h"

namespace sumwire::nic {
namespace {

// 192.168.0.1:5000 -> 192.168.0.2:6000, "hi!".
// IP header sum: 4500 + 001f + 4000 + 4011 + c0a8 + 0001 + c0a8 + 0002 = 24683 -> 4685, ~ = b97a.
const std::string ethernet = "020000000002 020000000001 0800";
const std::string ip = "4500 001f 0000 4000 40 11 b97a c0a80001 c0a80002";
const std::string udp = "1388 1770 000b 0000";
const std::string text = "686921";

std::vector<std::byte> good() {
    return bytes(ethernet + ip + udp + text);
}

// With another IP header, whose checksum is made right.
std::vector<std::byte> with_ip(std::string header, const std::string& rest) {
    auto head = bytes(header);
    std::uint32_t sum = 0;
    head[10] = head[11] = std::byte{0};
    for (std::size_t i = 0; i < head.size(); i += 2) {
        sum += std::to_integer<std::uint32_t>(head[i]) << 8 |
               std::to_integer<std::uint32_t>(head[i + 1]);
    }
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    head[10] = static_cast<std::byte>(~sum >> 8);
    head[11] = static_cast<std::byte>(~sum);
    return bytes(ethernet) + head + bytes(rest);
}

TEST(Frame, IsWrittenAsByHand) {
    const UdpPath path{.source_mac = {2, 0, 0, 0, 0, 1},
                       .destination_mac = {2, 0, 0, 0, 0, 2},
                       .from = {0xc0a80001, 5000, 0},
                       .to = {0xc0a80002, 6000, 0}};
    std::array<std::byte, network_header_bytes> out;
    write_udp_headers(path, 3, out);
    EXPECT_EQ(std::vector(out.begin(), out.end()), bytes(ethernet + ip + udp));
}

TEST(Frame, IsRead) {
    const auto frame = good();
    const auto read = read_udp_frame(frame);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->source_mac, (MacAddress{2, 0, 0, 0, 0, 1}));
    EXPECT_EQ(read->from, (Endpoint{0xc0a80001, 5000, 0}));
    EXPECT_EQ(read->to, (Endpoint{0xc0a80002, 6000, 0}));
    EXPECT_EQ(read->udp_offset, 34U);
    EXPECT_EQ(read->datagram_bytes, 3U);
    EXPECT_EQ(read->checksum, 0);
}

TEST(Frame, PaddingIsNoPartOfTheDatagram) {
    const auto read = read_udp_frame(good() + zeros(15));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->datagram_bytes, 3U);
}

TEST(Frame, OptionsAreSkipped) {
    const auto frame =
        with_ip("4700 0027 0000 4000 40 11 0000 c0a80001 c0a80002 94040000 01010101", udp + text);
    const auto read = read_udp_frame(frame);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->udp_offset, 42U);
    EXPECT_EQ(read->datagram_bytes, 3U);
}

TEST(Frame, AnEmptyDatagramIsOne) {
    const auto read = read_udp_frame(
        with_ip("4500 001c 0000 4000 40 11 0000 c0a80001 c0a80002", "1388 1770 0008 0000"));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->datagram_bytes, 0U);
}

TEST(Frame, EveryTruncationIsRefused) {
    const auto frame = good();
    for (std::size_t size = 0; size < frame.size(); ++size) {
        EXPECT_FALSE(read_udp_frame(std::span(frame).first(size))) << size << " bytes";
    }
}

TEST(Frame, EveryDamagedBitOfTheIpHeaderIsRefused) {
    for (std::size_t bit = 14 * 8; bit < 34 * 8; ++bit) {
        auto frame = good();
        frame[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        EXPECT_FALSE(read_udp_frame(frame)) << "bit " << bit;
    }
}

struct OddFrame {
    const char* name;
    std::string ip;
    std::string rest;
};

class OddFrames : public testing::TestWithParam<OddFrame> {};

TEST_P(OddFrames, AreRefused) {
    EXPECT_FALSE(read_udp_frame(with_ip(GetParam().ip, GetParam().rest)));
}

INSTANTIATE_TEST_SUITE_P(
    Frame, OddFrames,
    testing::Values(
        OddFrame{"FirstFragment", "4500 001f 0000 2000 40 11 0000 c0a80001 c0a80002", udp + text},
        OddFrame{"LastFragment", "4500 001f 0000 0001 40 11 0000 c0a80001 c0a80002", udp + text},
        OddFrame{"Version6", "6500 001f 0000 4000 40 11 0000 c0a80001 c0a80002", udp + text},
        OddFrame{"ShortHeader", "4400 001f 0000 4000 40 11 0000 c0a80001 c0a80002", udp + text},
        OddFrame{"HeaderBeyondTheFrame", "4f00 001f 0000 4000 40 11 0000 c0a80001 c0a80002",
                 udp + text},
        OddFrame{"Tcp", "4500 001f 0000 4000 40 06 0000 c0a80001 c0a80002", udp + text},
        OddFrame{"LongerThanTheFrame", "4500 0020 0000 4000 40 11 0000 c0a80001 c0a80002",
                 udp + text},
        OddFrame{"TooShortForUdp", "4500 001b 0000 4000 40 11 0000 c0a80001 c0a80002", udp + text},
        OddFrame{"UdpLongerThanIp", "4500 001f 0000 4000 40 11 0000 c0a80001 c0a80002",
                 "1388 1770 000c 0000 68692100"},
        OddFrame{"UdpShorterThanItsHeader", "4500 001f 0000 4000 40 11 0000 c0a80001 c0a80002",
                 "1388 1770 0007 0000 686921"}),
    [](const auto& odd) { return odd.param.name; });

TEST(Frame, OtherEtherTypesAreRefused) {
    for (const char* type : {"8100 0001 0800", "0806", "86dd", "0020"}) {
        EXPECT_FALSE(read_udp_frame(
            bytes("020000000002 020000000001" + std::string(type) + ip + udp + text)))
            << type;
    }
}

// The sum over pseudo header, UDP header and text is 0x35dd (test_checksum.cpp), the pseudo
// header's 0x8170.
class ReceivedChecksum : public testing::Test {
  protected:
    static UdpChecksumState state(const std::string& checksum, const std::string& data = text) {
        const auto frame = bytes(ethernet + ip + "1388 1770 000b" + checksum + data) + zeros(15);
        const auto read = read_udp_frame(frame);
        EXPECT_TRUE(read);
        return check_udp(*read, frame);
    }
};

TEST_F(ReceivedChecksum, Absent) {
    EXPECT_EQ(state("0000"), UdpChecksumState::absent);
}
TEST_F(ReceivedChecksum, Right) {
    EXPECT_EQ(state("ca22"), UdpChecksumState::right);
}
TEST_F(ReceivedChecksum, Unfinished) {
    EXPECT_EQ(state("8170"), UdpChecksumState::unfinished);
}
TEST_F(ReceivedChecksum, Wrong) {
    EXPECT_EQ(state("ca23"), UdpChecksumState::wrong);
    EXPECT_EQ(state("ca22", "686920"), UdpChecksumState::wrong);
    EXPECT_EQ(state("ca22", "686821"), UdpChecksumState::wrong);
}

}  // namespace
}  // namespace sumwire::nic
