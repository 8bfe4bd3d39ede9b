#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "nic/crc32c.h"
#include "nic/wire.h"
#include "tests/unit/nic/bytes.h"

namespace sumwire::nic {
namespace {

std::vector<std::byte> written(const Header& header) {
    std::vector<std::byte> out(header_bytes, std::byte{0xee});
    write_header(header, std::span<std::byte, header_bytes>(out));
    return out;
}

std::vector<std::byte> sealed(const Header& header, const std::vector<std::byte>& payload) {
    auto datagram = written(header);
    seal(std::span<std::byte, header_bytes>(datagram), payload);
    return datagram + payload;
}

void expect_equal(const Header& a, const Header& b) {
    EXPECT_EQ(a.type, b.type);
    EXPECT_EQ(a.op, b.op);
    EXPECT_EQ(a.rank, b.rank);
    EXPECT_EQ(a.session, b.session);
    EXPECT_EQ(a.sequence, b.sequence);
    EXPECT_EQ(a.slot, b.slot);
    EXPECT_EQ(a.slot_version, b.slot_version);
}

struct Vector {
    const char* name;
    Header header;
    const char* hex;
};

// Bytes: version and type | op | rank | session | sequence | version and slot | checksum.
const Vector vectors[] = {
    {"contribution",
     {PacketType::contribution, Op::bit_or, 0x0203, 0x0405060708090a0b, 0x0c0d0e0f, 0x1011, false},
     "11 10 0203 0405060708090a0b 0c0d0e0f 1011 00000000"},
    {"result_of_version_1",
     {PacketType::result, Op::add_i32, 1, 2, 3, 4, true},
     "12 20 0001 0000000000000002 00000003 8004 00000000"},
    {"largest_values",
     {PacketType::pending, Op::max_u8, 0xffff, 0xffffffffffffffff, 0xffffffff, 0x7fff, true},
     "13 30 ffff ffffffffffffffff ffffffff ffff 00000000"},
    {"highest_slot_of_version_0",
     {PacketType::heartbeat, Op::add_f32, 0, 0, 0, 0x7fff, false},
     "14 40 0000 0000000000000000 00000000 7fff 00000000"},
    {"join", {PacketType::join}, "15 00 0000 0000000000000000 00000000 0000 00000000"},
    {"waiting", {PacketType::waiting}, "16 00 0000 0000000000000000 00000000 0000 00000000"},
    {"welcome", {PacketType::welcome}, "17 00 0000 0000000000000000 00000000 0000 00000000"},
    {"refused", {PacketType::refused}, "18 00 0000 0000000000000000 00000000 0000 00000000"},
    {"leave", {PacketType::leave}, "19 00 0000 0000000000000000 00000000 0000 00000000"},
    {"peer_lost", {PacketType::peer_lost}, "1a 00 0000 0000000000000000 00000000 0000 00000000"},
    {"contradiction",
     {PacketType::contradiction},
     "1b 00 0000 0000000000000000 00000000 0000 00000000"},
    {"closing", {PacketType::closing}, "1c 00 0000 0000000000000000 00000000 0000 00000000"},
};

class WireVector : public ::testing::TestWithParam<Vector> {};

TEST_P(WireVector, IsWritten) {
    EXPECT_EQ(written(GetParam().header), bytes(GetParam().hex));
}

TEST_P(WireVector, IsRead) {
    const auto header = read_header(bytes(GetParam().hex));
    ASSERT_TRUE(header.has_value());
    expect_equal(*header, GetParam().header);
}

INSTANTIATE_TEST_SUITE_P(Wire, WireVector, ::testing::ValuesIn(vectors),
                         [](const auto& test) { return test.param.name; });

TEST(Wire, RandomHeadersSurviveTheRoundTrip) {
    std::mt19937_64 random(4);
    for (int i = 0; i < 10000; ++i) {
        Header header;
        header.type = static_cast<PacketType>(1 + random() % 12);
        header.op = static_cast<Op>(random() % 10);
        header.rank = static_cast<std::uint16_t>(random());
        header.session = random();
        header.sequence = static_cast<std::uint32_t>(random());
        header.slot = static_cast<std::uint16_t>(random() % max_slots);
        header.slot_version = (random() & 1) != 0;
        const auto back = read_header(written(header));
        ASSERT_TRUE(back.has_value());
        expect_equal(*back, header);
    }
}

TEST(Wire, RejectsShortDatagrams) {
    const auto datagram = written({PacketType::contribution});
    for (std::size_t size = 0; size < header_bytes; ++size) {
        EXPECT_FALSE(read_header(std::span(datagram).first(size)).has_value()) << size;
        EXPECT_EQ(check(std::span(datagram).first(size)), Checksum::wrong) << size;
    }
}

TEST(Wire, RejectsOtherVersionsUnknownTypesAndUnknownOps) {
    for (unsigned first = 0; first < 256; ++first) {
        for (unsigned second = 0; second < 256; ++second) {
            auto datagram = written({PacketType::contribution});
            datagram[0] = static_cast<std::byte>(first);
            datagram[1] = static_cast<std::byte>(second);
            const unsigned type = first & 15;
            const bool valid = first >> 4 == 1 && type >= 1 && type <= 12 && second >> 4 <= 9;
            ASSERT_EQ(read_header(datagram).has_value(), valid) << first << " " << second;
        }
    }
}

TEST(Wire, ReservedFlagsAreIgnored) {
    auto datagram = written({PacketType::result, Op::add_i32});
    datagram[1] |= std::byte{0x0f};
    EXPECT_TRUE(read_header(datagram).has_value());
}

TEST(Wire, ChecksumStandsInBytes18To21BigEndian) {
    const auto payload = bytes("00112233 44556677");
    const Header header{PacketType::contribution, Op::add_i32, 1, 2, 3, 4, true};
    const auto datagram = sealed(header, payload);
    const std::uint32_t crc = crc32c_portable(payload + written(header));
    ASSERT_NE(crc, 0U);
    for (unsigned i = 0; i < 4; ++i) {
        EXPECT_EQ(datagram[18 + i], static_cast<std::byte>(crc >> (24 - 8 * i)));
    }
    EXPECT_EQ(check(datagram), Checksum::right);
}

TEST(Wire, SealedDatagramByteByByte) {
    const Header header{PacketType::contribution, Op::add_i32, 1, 2, 3, 4, true};
    EXPECT_EQ(sealed(header, bytes("0011223344556677")),
              bytes("11 20 0001 0000000000000002 00000003 8004 2e2ac93a 0011223344556677"));
}

TEST(Wire, ThePayloadsCrcIsEnoughToSeal) {
    const auto payload = bytes("00112233445566778899");
    for (const std::uint16_t rank : {0, 1, 2}) {
        const Header header{PacketType::result, Op::add_i32, rank, 2, 3, 4, true};
        auto head = written(header);
        seal(std::span<std::byte, header_bytes>(head), crc32c(payload));
        EXPECT_EQ(head + payload, sealed(header, payload));
    }
}

TEST(Wire, WithoutSealTheChecksumIsAbsent) {
    EXPECT_EQ(check(written({PacketType::result}) + bytes("0102")), Checksum::absent);
}

TEST(Wire, SealingTwiceGivesTheSame) {
    const Header header{PacketType::contribution, Op::add_i32, 1, 2, 3, 4, true};
    auto datagram = sealed(header, {});
    const auto once = datagram;
    seal(std::span<std::byte, header_bytes>(datagram), {});
    EXPECT_EQ(datagram, once);
}

// CRCs are affine: the four payload bytes that bring the CRC to zero solve a linear system.
std::vector<std::byte> payload_with_crc_zero(const std::vector<std::byte>& header) {
    const auto crc_of = [&](std::uint32_t word) {
        std::vector<std::byte> payload;
        for (int i = 0; i < 4; ++i)
            payload.push_back(static_cast<std::byte>(word >> (8 * i)));
        return crc32c_portable(payload + header);
    };
    const std::uint32_t base = crc_of(0);
    std::array<std::uint32_t, 32> effect{};  // reduced so that row i leads with its own bit
    std::array<std::uint32_t, 32> cause{};
    for (unsigned bit = 0; bit < 32; ++bit) {
        std::uint32_t e = crc_of(1U << bit) ^ base;
        std::uint32_t c = 1U << bit;
        for (int lead = 31; lead >= 0; --lead) {
            const auto i = static_cast<std::size_t>(lead);
            if (((e >> lead) & 1U) == 0) continue;
            if (effect[i] == 0) {
                effect[i] = e;
                cause[i] = c;
                break;
            }
            e ^= effect[i];
            c ^= cause[i];
        }
    }
    std::uint32_t left = base;
    std::uint32_t word = 0;
    for (int lead = 31; lead >= 0; --lead) {
        const auto i = static_cast<std::size_t>(lead);
        if (((left >> lead) & 1U) == 0) continue;
        left ^= effect[i];
        word ^= cause[i];
    }
    EXPECT_EQ(crc_of(word), 0U);
    std::vector<std::byte> payload;
    for (int i = 0; i < 4; ++i)
        payload.push_back(static_cast<std::byte>(word >> (8 * i)));
    return payload;
}

TEST(Wire, CrcOfZeroIsSentAsAllOnes) {
    const Header header{PacketType::contribution, Op::add_i32, 1, 2, 3, 4, true};
    const auto datagram = sealed(header, payload_with_crc_zero(written(header)));
    EXPECT_EQ(std::vector(datagram.begin() + 18, datagram.begin() + 22), bytes("ffffffff"));
    EXPECT_EQ(check(datagram), Checksum::right);
}

TEST(Wire, EveryFlippedBitIsNoticed) {
    std::mt19937_64 random(5);
    std::vector<std::byte> payload(512);
    for (std::byte& b : payload)
        b = static_cast<std::byte>(random());
    const Header header{PacketType::contribution, Op::add_f32, 9, random(), 77, 12, false};
    auto datagram = sealed(header, payload);
    for (std::size_t bit = 0; bit < datagram.size() * 8; ++bit) {
        const auto mask = std::byte{1} << (bit % 8);
        datagram[bit / 8] ^= mask;
        ASSERT_NE(check(datagram), Checksum::right) << "bit " << bit;
        datagram[bit / 8] ^= mask;
    }
    EXPECT_EQ(check(datagram), Checksum::right);
}

TEST(Wire, TruncationIsNoticed) {
    const auto datagram = sealed({PacketType::result}, bytes("0102030405060708"));
    for (std::size_t size = 0; size < datagram.size(); ++size) {
        EXPECT_EQ(check(std::span(datagram).first(size)), Checksum::wrong) << size;
    }
}

TEST(Wire, SerialArithmetic) {
    EXPECT_TRUE(is_after(1, 0));
    EXPECT_FALSE(is_after(0, 1));
    EXPECT_FALSE(is_after(5, 5));
    EXPECT_TRUE(is_after(0, 0xffffffff));
    EXPECT_TRUE(is_after(0x7fffffff, 0));
    EXPECT_FALSE(is_after(0x80000001, 0));
}

}  // namespace
}  // namespace sumwire::nic
