#include "apps/support/sum_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace sumwire::apps {
namespace {

template <typename Value>
using Named = std::pair<Value, std::string_view>;

constexpr std::array codecs{
    Named<Codec>{Codec::automatic, "auto"}, Named<Codec>{Codec::dense, "dense"},
    Named<Codec>{Codec::packed, "packed"}, Named<Codec>{Codec::sketch, "sketch"}};
constexpr std::array arithmetics{Named<Arithmetic>{Arithmetic::exact, "exact"},
                                 Named<Arithmetic>{Arithmetic::f32, "f32"},
                                 Named<Arithmetic>{Arithmetic::fixed32, "fixed32"}};
constexpr std::array reduce_ops{
    Named<ReduceOp>{ReduceOp::sum, "sum"}, Named<ReduceOp>{ReduceOp::average, "average"},
    Named<ReduceOp>{ReduceOp::minimum, "minimum"}, Named<ReduceOp>{ReduceOp::maximum, "maximum"}};
constexpr std::array data_types{
    Named<DataType>{DataType::f32, "f32"}, Named<DataType>{DataType::bf16, "bf16"},
    Named<DataType>{DataType::f16, "f16"}, Named<DataType>{DataType::f64, "f64"},
    Named<DataType>{DataType::i32, "i32"}, Named<DataType>{DataType::i64, "i64"}};

constexpr std::string_view all = "all";
constexpr std::string_view usual = "default";

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

bool has(const std::vector<std::string>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

template <typename Table>
void check_names(const Table& table, const std::vector<std::string>& names, std::string_view what,
                 std::initializer_list<std::string_view> further) {
    for (const auto& name : names)
        if (std::ranges::find(further, name) == further.end()) value_in(table, name, what);
}

bool is_wanted(const std::vector<std::string>& names, const SumChoice& choice) {
    const auto usual_one = choice.codec == Codec::sketch ? Arithmetic::fixed32 : Arithmetic::exact;
    return has(names, all) || has(names, name_of(choice.arithmetic)) ||
           (has(names, usual) && choice.arithmetic == usual_one);
}

}  // namespace

std::string_view name_of(Codec codec) {
    return name_in(codecs, codec);
}

std::string_view name_of(Arithmetic arithmetic) {
    return name_in(arithmetics, arithmetic);
}

std::string_view name_of(ReduceOp op) {
    return name_in(reduce_ops, op);
}

std::string_view name_of(DataType type) {
    return name_in(data_types, type);
}

ReduceOp parse_reduce_op(std::string_view text) {
    return value_in(reduce_ops, text, "operation");
}

DataType parse_data_type(std::string_view text) {
    return value_in(data_types, text, "type");
}

std::vector<SumChoice> choose_sums(const std::vector<std::string>& codec_names,
                                   const std::vector<std::string>& arithmetic_names) {
    check_names(codecs, codec_names, "codec", {all});
    check_names(arithmetics, arithmetic_names, "arithmetic", {all, usual});
    if (has(codec_names, "sketch") && has(arithmetic_names, "f32"))
        throw std::invalid_argument(
            "--codec sketch needs integers, a sketch of floats would lose bits: choose "
            "--arithmetic exact or fixed32, or --codec packed with f32");
    std::vector<SumChoice> choices;
    for (const auto& [codec, name] : codecs) {
        if (!has(codec_names, all) && !has(codec_names, name)) continue;
        for (const auto& [arithmetic, ignored] : arithmetics) {
            const SumChoice choice{codec, arithmetic};
            const bool possible = codec != Codec::sketch || arithmetic != Arithmetic::f32;
            if (possible && is_wanted(arithmetic_names, choice)) choices.push_back(choice);
        }
    }
    return choices;
}

}  // namespace sumwire::apps
