#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "nic/dpdk/checksum.h"
#include "tests/unit/nic/bytes.h"

namespace sumwire::nic {
namespace {

// RFC 1071 to the letter: 16-bit big-endian words, end-around carry, odd byte padded on the right.
std::uint16_t reference_sum(const std::vector<std::byte>& data) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < data.size(); i += 2) {
        const auto high = std::to_integer<std::uint32_t>(data[i]);
        const auto low = i + 1 < data.size() ? std::to_integer<std::uint32_t>(data[i + 1]) : 0;
        sum += (high << 8) | low;
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return static_cast<std::uint16_t>(sum);
}

TEST(InternetSum, MatchesTheExampleOfRfc1071) {
    EXPECT_EQ(InternetSum{}.add(bytes("0001 f203 f4f5 f6f7")).folded(), 0xddf2);
}

TEST(InternetSum, OfNothingIsZero) {
    EXPECT_EQ(InternetSum{}.folded(), 0);
}

TEST(InternetSum, DoesNotCareHowBytesAreCutIntoPieces) {
    std::mt19937 random(7);
    for (int trial = 0; trial < 2000; ++trial) {
        std::vector<std::byte> data(random() % 200);
        for (std::byte& byte : data)
            byte = static_cast<std::byte>(random());
        InternetSum sum;
        std::span<const std::byte> rest(data);
        while (!rest.empty()) {
            const std::size_t piece = 1 + random() % rest.size();
            sum.add(rest.first(piece));
            rest = rest.subspan(piece);
        }
        ASSERT_EQ(sum.folded(), reference_sum(data)) << "trial " << trial;
    }
}

TEST(InternetSum, HoldsTheLargestDatagram) {
    const std::vector<std::byte> data(65535, std::byte{0xff});
    EXPECT_EQ(InternetSum{}.add(data).folded(), reference_sum(data));
}

// 192.168.0.1:5000 -> 192.168.0.2:6000, "hi!"; summed by hand:
// c0a8 + 0001 + c0a8 + 0002 + 0011 + 000b + 1388 + 1770 + 000b + 0000 + 6869 + 2100 = 235db -> 35dd
TEST(UdpChecksum, MatchesASumByHand) {
    const auto header = bytes("1388 1770 000b 0000");
    EXPECT_EQ(udp_checksum(0xc0a80001, 0xc0a80002, header, bytes("6869 21"), {}),
              static_cast<std::uint16_t>(~0x35dd));
    EXPECT_EQ(udp_checksum(0xc0a80001, 0xc0a80002, header, bytes("68"), bytes("6921")),
              static_cast<std::uint16_t>(~0x35dd));
}

TEST(UdpChecksum, IsNeverZero) {
    // The pseudo header and UDP header sum to 0x0011 + 2 * 0x000a; the datagram makes it 0xffff.
    const auto header = bytes("0000 0000 000a 0000");
    EXPECT_EQ(udp_checksum(0, 0, header, bytes("ffda"), {}), 0xffff);
}

TEST(PseudoHeaderSum, MatchesASumByHand) {
    // c0a8 + 0001 + c0a8 + 0002 + 0011 + 000b = 1816f -> 8170
    EXPECT_EQ(pseudo_header_sum(0xc0a80001, 0xc0a80002, 11), 0x8170);
}

}  // namespace
}  // namespace sumwire::nic
