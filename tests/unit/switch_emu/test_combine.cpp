// Every op against scalar arithmetic written out here, at all lengths and alignments.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "switch_emu/combine.h"

namespace sumwire::aggregator {
namespace {

std::uint32_t word_at(const std::vector<std::byte>& bytes, std::size_t at) {
    std::uint32_t word = 0;
    for (unsigned i = 0; i < 4; ++i)
        word |= std::to_integer<std::uint32_t>(bytes[at + i]) << (8 * i);
    return word;
}

std::uint32_t expected_word(nic::Op op, std::uint32_t a, std::uint32_t b) {
    switch (op) {
        case nic::Op::bit_or:
            return a | b;
        case nic::Op::add_i32:
            return static_cast<std::uint32_t>((std::uint64_t{a} + b) % (std::uint64_t{1} << 32U));
        case nic::Op::add_f32:
            return std::bit_cast<std::uint32_t>(std::bit_cast<float>(a) + std::bit_cast<float>(b));
        case nic::Op::max_u8: {
            std::uint32_t word = 0;
            for (unsigned shift = 0; shift < 32; shift += 8) {
                const std::uint32_t x = a >> shift & 0xff;
                const std::uint32_t y = b >> shift & 0xff;
                word |= (x < y ? y : x) << shift;
            }
            return word;
        }
        case nic::Op::none:
            break;
    }
    return a;
}

class CombineOp : public testing::TestWithParam<nic::Op> {};

TEST_P(CombineOp, EveryLengthAndAlignment) {
    std::mt19937 random(7);
    for (std::size_t count = 0; count <= 70; ++count) {
        for (std::size_t into_at = 0; into_at < 4; ++into_at) {
            for (std::size_t from_at = 0; from_at < 4; ++from_at) {
                std::vector<std::byte> into(into_at + count * 4 + 8);
                std::vector<std::byte> from(from_at + count * 4 + 8);
                for (std::byte& byte : into)
                    byte = static_cast<std::byte>(random());
                for (std::byte& byte : from)
                    byte = static_cast<std::byte>(random());
                // Floats of moderate size: no NaN, whose payload bits may differ.
                if (GetParam() == nic::Op::add_f32) {
                    for (std::size_t i = 0; i < count; ++i) {
                        into[into_at + i * 4 + 3] = std::byte{0x42};
                        from[from_at + i * 4 + 3] = std::byte{0xc1};
                    }
                }
                const std::vector<std::byte> before = into;
                combine(GetParam(), std::span(into).subspan(into_at, count * 4),
                        std::span(from).subspan(from_at, count * 4));
                for (std::size_t i = 0; i < count; ++i) {
                    ASSERT_EQ(word_at(into, into_at + i * 4),
                              expected_word(GetParam(), word_at(before, into_at + i * 4),
                                            word_at(from, from_at + i * 4)))
                        << "word " << i << " of " << count;
                }
                for (std::size_t i = 0; i < into_at; ++i)
                    ASSERT_EQ(into[i], before[i]);
                for (std::size_t i = into_at + count * 4; i < into.size(); ++i)
                    ASSERT_EQ(into[i], before[i]);
            }
        }
    }
}

std::string name_of(const testing::TestParamInfo<nic::Op>& op) {
    constexpr std::array names{"none", "bit_or", "add_i32", "max_u8", "add_f32"};
    return names[static_cast<std::size_t>(op.param)];
}

INSTANTIATE_TEST_SUITE_P(Ops, CombineOp,
                         testing::Values(nic::Op::bit_or, nic::Op::add_i32, nic::Op::max_u8,
                                         nic::Op::add_f32),
                         name_of);

TEST(Combine, KnownValues) {
    std::vector<std::byte> a{std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};
    const std::vector<std::byte> one{std::byte{1}, std::byte{0}, std::byte{0}, std::byte{0}};
    combine(nic::Op::add_i32, a, one);
    EXPECT_EQ(word_at(a, 0), 0U);  // wraps

    std::vector<std::byte> bytes{std::byte{0x80}, std::byte{1}, std::byte{7}};
    combine(nic::Op::max_u8, bytes,
            std::vector<std::byte>{std::byte{0x7f}, std::byte{2}, std::byte{7}});
    EXPECT_EQ(bytes, (std::vector<std::byte>{std::byte{0x80}, std::byte{2}, std::byte{7}}));
}

}  // namespace
}  // namespace sumwire::aggregator
