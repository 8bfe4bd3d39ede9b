#include "runtime/engine/agreement.h"

#include <fmt/core.h>

#include <string_view>

namespace sumwire::runtime {

namespace {

static_assert(agreement_bytes % 4 == 0);

using CallBytes = std::array<std::uint8_t, call_bytes>;

CallBytes bytes_of(const CollectiveCall& call) {
    CallBytes bytes{};
    std::size_t next = 0;
    const auto put = [&](std::uint64_t value, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i)
            bytes[next++] = static_cast<std::uint8_t>(value >> 8 * i);
    };
    put(static_cast<std::uint64_t>(call.kind), 1);
    put(static_cast<std::uint64_t>(call.type), 1);
    put(static_cast<std::uint64_t>(call.reduction), 1);
    put(call.codec ? 1 + static_cast<std::uint64_t>(*call.codec) : 0, 1);
    put(static_cast<std::uint64_t>(call.arithmetic), 1);
    put(call.count, 8);
    put(call.tag, 8);
    return bytes;
}

struct Field {
    std::string_view name;
    std::size_t begin;
    std::size_t end;
};
// A difference in the first ones makes those behind it meaningless.
constexpr Field fields[] = {{"the collective (all_reduce or barrier)", 0, 1},
                            {"the count of elements", 5, 13},
                            {"the data type", 1, 2},
                            {"the operation (sum, average, minimum, maximum)", 2, 3},
                            {"the codec", 3, 4},
                            {"the arithmetic", 4, 5},
                            {"the tag", 13, 21}};

std::string_view name_of(gpu::DataType type) {
    constexpr std::string_view names[] = {"f32", "bf16", "f16", "f64", "i32", "i64"};
    return names[static_cast<std::size_t>(type)];
}

std::string_view name_of(gpu::Reduction reduction) {
    constexpr std::string_view names[] = {"sum", "average", "minimum", "maximum"};
    return names[static_cast<std::size_t>(reduction)];
}

std::string_view name_of(std::optional<gpu::Codec> codec) {
    constexpr std::string_view names[] = {"dense", "packed", "sketch"};
    return codec ? names[static_cast<std::size_t>(*codec)] : "auto";
}

std::string_view name_of(gpu::Arithmetic arithmetic) {
    constexpr std::string_view names[] = {"exact", "f32", "fixed32"};
    return names[static_cast<std::size_t>(arithmetic)];
}

}  // namespace

AgreementMessage write_agreement(const CollectiveCall& call, const LinkCosts& costs) {
    const CallBytes bytes = bytes_of(call);
    AgreementMessage message{};
    for (std::size_t i = 0; i < call_bytes; ++i) {
        message[i] = std::byte{bytes[i]};
        message[call_bytes + i] = ~std::byte{bytes[i]};
    }
    message[2 * call_bytes] = std::byte{costs.round_trip_code()};
    message[2 * call_bytes + 1] = std::byte{costs.slowness_code()};
    return message;
}

std::string difference_of(const AgreementMessage& combined) {
    for (const Field& field : fields) {
        for (std::size_t i = field.begin; i < field.end; ++i) {
            if (combined[call_bytes + i] != ~combined[i]) return std::string(field.name);
        }
    }
    return {};
}

LinkCosts costs_of(const AgreementMessage& combined) {
    return LinkCosts::of_codes(std::to_integer<std::uint8_t>(combined[2 * call_bytes]),
                               std::to_integer<std::uint8_t>(combined[2 * call_bytes + 1]));
}

std::string describe(const CollectiveCall& call) {
    if (call.kind == CollectiveCall::Kind::barrier) return "barrier";
    return fmt::format("all_reduce of {} {} elements ({}, codec {}, arithmetic {}, tag {})",
                       call.count, name_of(call.type), name_of(call.reduction),
                       name_of(call.codec), name_of(call.arithmetic), call.tag);
}

}  // namespace sumwire::runtime
