#include "apps/bench/typed_gradients.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "apps/support/exact_accumulator.h"
#include "runtime/communicator/choices.h"

namespace sumwire::apps {
namespace {

constexpr double largest_integer = 1 << 20;

const FloatFormat& format_of(gpu::DataType type) {
    return type == gpu::DataType::bf16 ? bfloat16 : binary16;
}

bool is_half(gpu::DataType type) {
    return type == gpu::DataType::bf16 || type == gpu::DataType::f16;
}

bool is_wide(gpu::DataType type) {
    return type == gpu::DataType::f32 || is_half(type);
}

std::uint16_t narrow(float value, const FloatFormat& format) {
    const auto top = static_cast<std::uint32_t>(std::bit_cast<std::uint32_t>(value) >> 31U) << 15U;
    const auto infinity = ((1U << format.exponent_bits) - 1U) << (format.significand_bits - 1);
    if (std::isnan(value)) return static_cast<std::uint16_t>(top | (infinity + 1U));
    if (std::isinf(value)) return static_cast<std::uint16_t>(top | infinity);
    return static_cast<std::uint16_t>(top | exact_sum_bits({&value, 1}, 1, format));
}

float widen(std::uint16_t bits, const FloatFormat& format) {
    const int fraction_bits = format.significand_bits - 1;
    const int exponent = (bits >> fraction_bits) & ((1 << format.exponent_bits) - 1);
    const int fraction = bits & ((1 << fraction_bits) - 1);
    double magnitude = 0;
    if (exponent == (1 << format.exponent_bits) - 1)
        magnitude = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                                  : std::numeric_limits<double>::infinity();
    else if (exponent == 0)
        magnitude = std::ldexp(fraction, format.lowest_exponent);
    else
        magnitude =
            std::ldexp(fraction + (1 << fraction_bits), format.lowest_exponent + exponent - 1);
    return static_cast<float>((bits >> 15U) != 0 ? -magnitude : magnitude);
}

template <typename T>
T element(std::span<const std::byte> values, std::size_t i) {
    T value;
    std::memcpy(&value, values.data() + i * sizeof(T), sizeof(T));
    return value;
}

template <typename T, typename F>
std::vector<std::byte> map(std::span<const float> values, F&& f) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const T value = f(values[i]);
        std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
    return bytes;
}

template <typename T>
std::vector<std::byte> scale(std::span<const float> values, double largest) {
    return map<T>(values, [&](float value) -> T {
        if (value == 0 || largest == 0 || !std::isfinite(value)) return 0;
        const auto scaled = static_cast<T>(std::abs(value) / largest * largest_integer);
        return value < 0 ? -std::max<T>(scaled, 1) : std::max<T>(scaled, 1);
    });
}

double largest_magnitude(RankValues gradients) {
    double largest = 0;
    for (const auto& rank : gradients)
        for (const float value : rank)
            if (std::isfinite(value)) largest = std::max<double>(largest, std::abs(value));
    return largest;
}

// Integers wrap around, which only unsigned ones may.
template <typename T>
std::vector<std::byte> sum_in_rank_order(const TypedGradients& gradients) {
    std::vector<std::byte> sums = gradients.ranks.front();
    for (const auto& rank : std::span(gradients.ranks).subspan(1)) {
        for (std::size_t i = 0; i < gradients.elements(); ++i) {
            const T sum = element<T>(sums, i) + element<T>(rank, i);
            std::memcpy(sums.data() + i * sizeof(T), &sum, sizeof(T));
        }
    }
    return sums;
}

std::vector<std::byte> plain_sums(const TypedGradients& gradients) {
    switch (gradients.type) {
        case gpu::DataType::f64:
            return sum_in_rank_order<double>(gradients);
        case gpu::DataType::i32:
            return sum_in_rank_order<std::uint32_t>(gradients);
        default:
            return sum_in_rank_order<std::uint64_t>(gradients);
    }
}

std::vector<std::vector<float>> widen_all(const TypedGradients& gradients) {
    std::vector<std::vector<float>> wide;
    if (!is_wide(gradients.type)) return {{}};
    for (const auto& rank : gradients.ranks) {
        auto& values = wide.emplace_back(gradients.elements());
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = is_half(gradients.type)
                            ? widen(element<std::uint16_t>(rank, i), format_of(gradients.type))
                            : element<float>(rank, i);
    }
    return wide;
}

std::vector<std::uint16_t> sum_halves(RankValues wide, std::span<const float> exact,
                                      const FloatFormat& format) {
    std::vector<std::uint16_t> sums(exact.size());
    std::vector<float> terms(wide.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
        for (std::size_t rank = 0; rank < terms.size(); ++rank)
            terms[rank] = wide[rank][i];
        const bool finite = std::ranges::all_of(terms, [](float x) { return std::isfinite(x); });
        sums[i] = finite ? static_cast<std::uint16_t>(exact_sum_bits(terms, 1, format))
                         : narrow(exact[i], format);
    }
    return sums;
}

}  // namespace

TypedGradients convert(RankValues gradients, DataType type) {
    TypedGradients typed{.type = runtime::to_gpu(type), .ranks = {}};
    const double largest = largest_magnitude(gradients);
    for (const auto& rank : gradients) {
        switch (type) {
            case DataType::f32:
                typed.ranks.push_back(map<float>(rank, [](float value) { return value; }));
                break;
            case DataType::bf16:
            case DataType::f16:
                typed.ranks.push_back(map<std::uint16_t>(
                    rank, [&](float value) { return narrow(value, format_of(typed.type)); }));
                break;
            case DataType::f64:
                typed.ranks.push_back(map<double>(rank, [](float value) { return value; }));
                break;
            case DataType::i32:
                typed.ranks.push_back(scale<std::int32_t>(rank, largest));
                break;
            case DataType::i64:
                typed.ranks.push_back(scale<std::int64_t>(rank, largest));
                break;
        }
    }
    return typed;
}

bool knows_arithmetic(DataType type) {
    return is_wide(runtime::to_gpu(type));
}

bool knows_codec(DataType type) {
    return type != DataType::f64 && type != DataType::i64;
}

std::size_t union_elements(const TypedGradients& gradients) {
    const std::size_t size = gpu::size_of(gradients.type);
    const bool has_negative_zero =
        gradients.type != gpu::DataType::i32 && gradients.type != gpu::DataType::i64;
    const auto is_zero = [&](const std::vector<std::byte>& rank, std::size_t i) {
        const auto bytes = std::span(rank).subspan(i * size, size);
        const std::byte sign = has_negative_zero ? std::byte{0x7f} : std::byte{0xff};
        return (bytes.back() & sign) == std::byte{0} &&
               std::ranges::all_of(bytes.first(size - 1),
                                   [](std::byte b) { return b == std::byte{0}; });
    };
    std::size_t count = 0;
    for (std::size_t i = 0; i < gradients.elements(); ++i)
        count += std::ranges::any_of(gradients.ranks,
                                     [&](const auto& rank) { return !is_zero(rank, i); })
                     ? 1
                     : 0;
    return count;
}

TypedReference::TypedReference(const TypedGradients& gradients)
    : gradients_(gradients), wide_(widen_all(gradients)), references_(wide_, ReduceOp::sum) {}

bool TypedReference::is_right(Arithmetic arithmetic, std::span<const std::byte> sums) {
    if (sums.size() != gradients_.bytes()) return false;
    if (!is_wide(gradients_.type)) {
        if (plain_.empty()) plain_ = plain_sums(gradients_);
        return std::ranges::equal(sums, plain_);
    }
    const ExpectedSums expected = references_.of(arithmetic);
    if (gradients_.type == gpu::DataType::f32) {
        std::vector<float> values(gradients_.elements());
        std::memcpy(values.data(), sums.data(), sums.size());
        return expected.judge(values).wrong == 0;
    }
    const FloatFormat& format = format_of(gradients_.type);
    if (arithmetic == Arithmetic::exact && exact_halves_.empty())
        exact_halves_ = sum_halves(wide_, expected.values, format);
    for (std::size_t i = 0; i < gradients_.elements(); ++i) {
        const auto bits = element<std::uint16_t>(sums, i);
        const float value = widen(bits, format);
        const float should = expected.values[i];
        if (expected.bounds.empty()) {
            const auto right =
                arithmetic == Arithmetic::exact ? exact_halves_[i] : narrow(should, format);
            if (bits != right && !(std::isnan(value) && std::isnan(widen(right, format))))
                return false;
            continue;
        }
        const double bound = expected.bounds[i / fixed32_chunk_elements];
        const double rounding =
            (std::abs(should) + bound) * std::ldexp(1.0, -format.significand_bits) +
            std::ldexp(1.0, format.lowest_exponent);
        const bool near = std::isfinite(bound)
                              ? std::abs(static_cast<double>(value) - should) <= bound + rounding ||
                                    bits == narrow(should, format)
                              : std::isnan(value);
        if (!near) return false;
    }
    return true;
}

}  // namespace sumwire::apps
