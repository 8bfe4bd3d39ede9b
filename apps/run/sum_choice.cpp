#include "apps/run/sum_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace sumwire::apps {
namespace {

template <typename Value>
using Named = std::pair<Value, std::string_view>;

constexpr std::array codecs{Named<Codec>{Codec::dense, "dense"},
                            Named<Codec>{Codec::packed, "packed"},
                            Named<Codec>{Codec::sketch, "sketch"}};
constexpr std::array arithmetics{Named<Arithmetic>{Arithmetic::exact, "exact"},
                                 Named<Arithmetic>{Arithmetic::f32, "f32"},
                                 Named<Arithmetic>{Arithmetic::fixed32, "fixed32"}};
constexpr std::array pollings{
    Named<Polling>{Polling::automatic, "auto"}, Named<Polling>{Polling::spin, "spin"},
    Named<Polling>{Polling::yield, "yield"}, Named<Polling>{Polling::sleep, "sleep"}};

template <typename Table, typename Value>
std::string_view name_in(const Table& table, Value value) {
    for (const auto& [candidate, name] : table)
        if (candidate == value) return name;
    return "unknown";
}

template <typename Table>
auto value_in(const Table& table, std::string_view text, std::string_view what) {
    std::vector<std::string_view> known;
    for (const auto& [value, name] : table) {
        if (name == text) return value;
        known.push_back(name);
    }
    throw std::invalid_argument(
        fmt::format("'{}' is no {}: choose {}", text, what, fmt::join(known, ", ")));
}

}  // namespace

std::string_view name_of(Codec codec) {
    return name_in(codecs, codec);
}

std::string_view name_of(Arithmetic arithmetic) {
    return name_in(arithmetics, arithmetic);
}

Codec parse_codec(std::string_view text) {
    return value_in(codecs, text, "codec");
}

Arithmetic parse_arithmetic(std::string_view text) {
    return value_in(arithmetics, text, "arithmetic");
}

Polling parse_polling(std::string_view text) {
    return value_in(pollings, text, "way of polling");
}

std::vector<SumChoice> all_choices() {
    return {{Codec::packed, Arithmetic::f32},     {Codec::packed, Arithmetic::exact},
            {Codec::sketch, Arithmetic::fixed32}, {Codec::sketch, Arithmetic::exact},
            {Codec::dense, Arithmetic::exact},    {Codec::dense, Arithmetic::f32}};
}

}  // namespace sumwire::apps
