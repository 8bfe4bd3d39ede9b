#include "nic/fault/fault_options.h"

#include <fmt/format.h>

#include <charconv>
#include <set>
#include <stdexcept>

namespace sumwire::nic {
namespace {

[[noreturn]] void reject(std::string_view text, const std::string& why) {
    throw std::invalid_argument(fmt::format(
        "faults \"{}\": {}; write for example \"loss=0.01,duplicate=0.02,reorder=0.02,"
        "corrupt=0.001,seed=7\" (also on=transmit|receive|both and patience=MICROSECONDS)",
        text, why));
}

double parse_probability(std::string_view text, std::string_view name, std::string_view value) {
    double probability = -1;
    const char* end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, probability);
    if (error != std::errc{} || stop != end || !(probability >= 0 && probability <= 1)) {
        reject(text, fmt::format("{}=\"{}\" is no probability from 0 to 1", name, value));
    }
    return probability;
}

std::uint64_t parse_count(std::string_view text, std::string_view name, std::string_view value) {
    std::uint64_t count = 0;
    const char* end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, count);
    if (error != std::errc{} || stop != end) {
        reject(text, fmt::format("{}=\"{}\" is no whole number", name, value));
    }
    return count;
}

void apply(FaultOptions& options, std::string_view text, std::string_view name,
           std::string_view value) {
    if (name == "loss") {
        options.loss = parse_probability(text, name, value);
    } else if (name == "duplicate") {
        options.duplicate = parse_probability(text, name, value);
    } else if (name == "reorder") {
        options.reorder = parse_probability(text, name, value);
    } else if (name == "corrupt") {
        options.corrupt = parse_probability(text, name, value);
    } else if (name == "seed") {
        options.seed = parse_count(text, name, value);
    } else if (name == "patience") {
        constexpr std::uint64_t most = 10'000'000;
        const std::uint64_t patience = parse_count(text, name, value);
        if (patience > most) reject(text, fmt::format("patience is above {}", most));
        options.patience = std::chrono::microseconds(patience);
    } else if (name == "on") {
        if (value != "transmit" && value != "receive" && value != "both") {
            reject(text, fmt::format("on=\"{}\" is not transmit, receive or both", value));
        }
        options.on_transmit = value != "receive";
        options.on_receive = value != "transmit";
    } else {
        reject(text, fmt::format("\"{}\" is unknown", name));
    }
}

}  // namespace

FaultOptions parse_faults(std::string_view text) {
    if (text.empty()) reject(text, "nothing is given");
    FaultOptions options;
    std::set<std::string_view> seen;
    std::string_view rest = text;
    while (true) {
        const auto comma = rest.find(',');
        const std::string_view item = rest.substr(0, comma);
        const auto equals = item.find('=');
        if (equals == std::string_view::npos) {
            reject(text, fmt::format("\"{}\" has no value", item));
        }
        const std::string_view name = item.substr(0, equals);
        if (!seen.insert(name).second) reject(text, fmt::format("\"{}\" is given twice", name));
        apply(options, text, name, item.substr(equals + 1));
        if (comma == std::string_view::npos) return options;
        rest = rest.substr(comma + 1);
    }
}

std::string to_string(const FaultOptions& options) {
    return fmt::format("loss={},duplicate={},reorder={},corrupt={},seed={},on={},patience={}",
                       options.loss, options.duplicate, options.reorder, options.corrupt,
                       options.seed,
                       !options.on_receive    ? "transmit"
                       : !options.on_transmit ? "receive"
                                              : "both",
                       options.patience.count());
}

}  // namespace sumwire::nic
