#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "nic/crc32c.h"
#include "tests/unit/nic/bytes.h"

namespace sumwire::nic {
namespace {

using Function = std::uint32_t (*)(std::span<const std::byte>, std::uint32_t);

// The definition, one bit at a time and most significant bit first, unlike the code under test.
std::uint32_t reflect(std::uint32_t value, int bits) {
    std::uint32_t result = 0;
    for (int i = 0; i < bits; ++i)
        result |= ((value >> i) & 1U) << (bits - 1 - i);
    return result;
}

std::uint32_t by_definition(std::span<const std::byte> data) {
    std::uint32_t remainder = 0xffffffff;
    for (const std::byte b : data) {
        remainder ^= reflect(static_cast<std::uint8_t>(b), 8) << 24;
        for (int i = 0; i < 8; ++i) {
            remainder = (remainder << 1) ^ ((remainder >> 31) != 0 ? 0x1edc6f41U : 0U);
        }
    }
    return reflect(~remainder, 32);
}

std::vector<std::byte> random_bytes(std::size_t size, std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    std::vector<std::byte> data(size);
    for (std::byte& b : data)
        b = static_cast<std::byte>(generator());
    return data;
}

class Crc32c : public ::testing::TestWithParam<Function> {};

TEST_P(Crc32c, PublishedValues) {
    const auto crc = GetParam();
    EXPECT_EQ(crc(bytes("31 32 33 34 35 36 37 38 39"), 0), 0xe3069283U);  // "123456789"
    // RFC 3720, B.4.
    EXPECT_EQ(crc(zeros(32), 0), 0x8a9136aaU);
    EXPECT_EQ(crc(std::vector<std::byte>(32, std::byte{0xff}), 0), 0x62a8ab43U);
    std::vector<std::byte> rising;
    for (int i = 0; i < 32; ++i)
        rising.push_back(static_cast<std::byte>(i));
    EXPECT_EQ(crc(rising, 0), 0x46dd794eU);
    EXPECT_EQ(crc({}, 0), 0U);
}

TEST_P(Crc32c, EveryLengthAndAlignmentAgreesWithTheDefinition) {
    const auto crc = GetParam();
    const auto data = random_bytes(128, 1);
    for (std::size_t start = 0; start < 9; ++start) {
        for (std::size_t size = 0; size + start <= data.size(); ++size) {
            const auto part = std::span(data).subspan(start, size);
            ASSERT_EQ(crc(part, 0), by_definition(part)) << "start " << start << " size " << size;
        }
    }
    const auto large = random_bytes(65507, 2);
    EXPECT_EQ(crc(large, 0), by_definition(large));
}

TEST_P(Crc32c, PiecesContinue) {
    const auto crc = GetParam();
    const auto data = random_bytes(100, 3);
    const auto whole = by_definition(data);
    for (std::size_t at = 0; at <= data.size(); ++at) {
        const auto all = std::span(data);
        ASSERT_EQ(crc(all.subspan(at), crc(all.first(at), 0)), whole) << "cut at " << at;
    }
}

INSTANTIATE_TEST_SUITE_P(Implementations, Crc32c, ::testing::Values(&crc32c, &crc32c_portable),
                         [](const auto& test) {
                             return test.param == &crc32c ? "dispatched" : "portable";
                         });

}  // namespace
}  // namespace sumwire::nic
