// Conversions keep zeros, and the references of other types notice wrong sums.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "apps/bench/typed_gradients.h"

namespace sumwire::apps {
namespace {

using Ranks = std::vector<std::vector<float>>;

template <typename T>
std::vector<T> values_of(std::span<const std::byte> bytes) {
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

TEST(TypedGradients, AreRoundedOrScaled) {
    const Ranks ranks{{1.0F, -2.0F, 0.0F, 1e-20F}, {0.0F, 1.0F, 0.0F, 0.0F}};
    EXPECT_EQ(values_of<std::uint16_t>(convert(ranks, DataType::bf16).ranks[0]),
              (std::vector<std::uint16_t>{0x3f80, 0xc000, 0, 0x1e3d}));
    EXPECT_EQ(values_of<std::uint16_t>(convert(ranks, DataType::f16).ranks[0]),
              (std::vector<std::uint16_t>{0x3c00, 0xc000, 0, 0}));
    EXPECT_EQ(values_of<std::int32_t>(convert(ranks, DataType::i32).ranks[0]),
              (std::vector<std::int32_t>{1 << 19, -(1 << 20), 0, 1}));
    EXPECT_EQ(values_of<std::int64_t>(convert(ranks, DataType::i64).ranks[1]),
              (std::vector<std::int64_t>{0, 1 << 19, 0, 0}));
    EXPECT_EQ(values_of<double>(convert(ranks, DataType::f64).ranks[0])[1], -2.0);
}

TEST(TypedGradients, CountTheirUnion) {
    const Ranks ranks{{1.0F, -0.0F, 0.0F, 1e-30F}, {0.0F, 0.0F, 2.0F, 0.0F}};
    EXPECT_EQ(union_elements(convert(ranks, DataType::f32)), 3U);
    EXPECT_EQ(union_elements(convert(ranks, DataType::f16)), 2U);
    EXPECT_EQ(union_elements(convert(ranks, DataType::i32)), 3U);
}

TEST(TypedReference, HalvesAreRoundedOnce) {
    // Half a unit of the last place beside 1, and a little more: rounded to float first, the little
    // is lost and the tie goes to even.
    const Ranks ranks{{1.0F}, {0x1p-8F}, {0x1p-40F}};
    const auto gradients = convert(ranks, DataType::bf16);
    TypedReference reference(gradients);
    EXPECT_TRUE(reference.is_right(Arithmetic::exact, bytes_of<std::uint16_t>({0x3f81})));
    EXPECT_FALSE(reference.is_right(Arithmetic::exact, bytes_of<std::uint16_t>({0x3f80})));
    EXPECT_TRUE(reference.is_right(Arithmetic::f32, bytes_of<std::uint16_t>({0x3f80})));
    EXPECT_TRUE(reference.is_right(Arithmetic::fixed32, bytes_of<std::uint16_t>({0x3f80})));
    EXPECT_TRUE(reference.is_right(Arithmetic::fixed32, bytes_of<std::uint16_t>({0x3f81})));
    EXPECT_FALSE(reference.is_right(Arithmetic::fixed32, bytes_of<std::uint16_t>({0x3f83})));
}

TEST(TypedReference, IntegersAndDoublesAreSummedAsTheyAre) {
    const Ranks ranks{{1.0F, -2.0F}, {1.0F, 1.0F}};
    for (const auto type : {DataType::i32, DataType::i64, DataType::f64}) {
        const auto gradients = convert(ranks, type);
        TypedReference reference(gradients);
        EXPECT_FALSE(reference.is_right(Arithmetic::exact, gradients.ranks[0]));
    }
    const auto doubles = convert(ranks, DataType::f64);
    EXPECT_TRUE(TypedReference(doubles).is_right(Arithmetic::exact, bytes_of<double>({2, -1})));
    const auto integers = convert(ranks, DataType::i32);
    EXPECT_TRUE(TypedReference(integers).is_right(Arithmetic::exact,
                                                  bytes_of<std::int32_t>({1 << 20, -(1 << 19)})));
}

}  // namespace
}  // namespace sumwire::apps
