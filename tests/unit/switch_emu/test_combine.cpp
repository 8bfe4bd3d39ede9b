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

std::uint64_t element_at(const std::vector<std::byte>& bytes, std::size_t at, std::size_t size) {
    std::uint64_t element = 0;
    for (unsigned i = 0; i < size; ++i)
        element |= std::to_integer<std::uint64_t>(bytes[at + i]) << (8 * i);
    return element;
}

struct OpCase {
    nic::Op op;
    std::size_t size;  // of an element
    std::uint64_t (*expected)(std::uint64_t a, std::uint64_t b);
};

std::uint64_t larger(std::uint64_t a, std::uint64_t b) {
    return a < b ? b : a;
}

float as_float(std::uint64_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

const OpCase op_cases[] = {
    {nic::Op::bit_or, 4, [](std::uint64_t a, std::uint64_t b) { return a | b; }},
    {nic::Op::add_i32, 4, [](std::uint64_t a, std::uint64_t b) { return (a + b) & 0xffffffff; }},
    {nic::Op::add_i64, 8, [](std::uint64_t a, std::uint64_t b) { return a + b; }},
    {nic::Op::add_f32, 4,
     [](std::uint64_t a, std::uint64_t b) {
         return std::uint64_t{std::bit_cast<std::uint32_t>(as_float(a) + as_float(b))};
     }},
    {nic::Op::add_f64, 8,
     [](std::uint64_t a, std::uint64_t b) {
         return std::bit_cast<std::uint64_t>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
     }},
    {nic::Op::max_u8, 1, larger},
    {nic::Op::max_u16, 2, larger},
    {nic::Op::max_u32, 4, larger},
    {nic::Op::max_u64, 8, larger},
};

class CombineOp : public testing::TestWithParam<OpCase> {};

TEST_P(CombineOp, EveryLengthAndAlignment) {
    const auto& [op, size, expected] = GetParam();
    ASSERT_EQ(nic::element_bytes(op), size);
    std::mt19937 random(7);
    for (std::size_t count = 0; count <= 70; ++count) {
        for (std::size_t into_at = 0; into_at < 8; ++into_at) {
            for (std::size_t from_at = 0; from_at < 8; ++from_at) {
                std::vector<std::byte> into(into_at + count * size + 8);
                std::vector<std::byte> from(from_at + count * size + 8);
                for (std::byte& byte : into)
                    byte = static_cast<std::byte>(random());
                for (std::byte& byte : from)
                    byte = static_cast<std::byte>(random());
                // Floats of moderate size: no NaN, whose payload bits may differ.
                if (nic::adds_in_rank_order(op)) {
                    for (std::size_t i = 1; i <= count; ++i) {
                        into[into_at + i * size - 1] = std::byte{0x42};
                        from[from_at + i * size - 1] = std::byte{0xc1};
                    }
                }
                const std::vector<std::byte> before = into;
                combine(op, std::span(into).subspan(into_at, count * size),
                        std::span(from).subspan(from_at, count * size));
                for (std::size_t i = 0; i < count; ++i) {
                    ASSERT_EQ(element_at(into, into_at + i * size, size),
                              expected(element_at(before, into_at + i * size, size),
                                       element_at(from, from_at + i * size, size)))
                        << "element " << i << " of " << count;
                }
                for (std::size_t i = 0; i < into_at; ++i)
                    ASSERT_EQ(into[i], before[i]);
                for (std::size_t i = into_at + count * size; i < into.size(); ++i)
                    ASSERT_EQ(into[i], before[i]);
            }
        }
    }
}

std::string name_of(const testing::TestParamInfo<OpCase>& info) {
    constexpr std::array names{"none",    "bit_or",  "add_i32", "max_u8",  "add_f32",
                               "add_i64", "add_f64", "max_u16", "max_u32", "max_u64"};
    return names[static_cast<std::size_t>(info.param.op)];
}

INSTANTIATE_TEST_SUITE_P(Ops, CombineOp, testing::ValuesIn(op_cases), name_of);

TEST(Combine, KnownValues) {
    std::vector<std::byte> a{std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};
    const std::vector<std::byte> one{std::byte{1}, std::byte{0}, std::byte{0}, std::byte{0}};
    combine(nic::Op::add_i32, a, one);
    EXPECT_EQ(element_at(a, 0, 4), 0U);  // wraps

    std::vector<std::byte> bytes{std::byte{0x80}, std::byte{1}, std::byte{7}};
    combine(nic::Op::max_u8, bytes,
            std::vector<std::byte>{std::byte{0x7f}, std::byte{2}, std::byte{7}});
    EXPECT_EQ(bytes, (std::vector<std::byte>{std::byte{0x80}, std::byte{2}, std::byte{7}}));
}

}  // namespace
}  // namespace sumwire::aggregator
