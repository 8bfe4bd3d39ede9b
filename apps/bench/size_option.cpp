#include "apps/bench/size_option.h"

#include <fmt/core.h>

#include <charconv>
#include <limits>
#include <stdexcept>

namespace sumwire::apps {
namespace {

unsigned shift_of(std::string_view suffix) {
    if (suffix.empty()) return 0;
    if (suffix == "K" || suffix == "k") return 10;
    if (suffix == "M" || suffix == "m") return 20;
    if (suffix == "G" || suffix == "g") return 30;
    return 64;
}

}  // namespace

std::size_t parse_size(std::string_view text) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto shift = shift_of(text.substr(static_cast<std::size_t>(end - text.data())));
    if (error != std::errc() || shift > 30 || number == 0 ||
        number > (std::numeric_limits<std::size_t>::max() >> shift))
        throw std::invalid_argument(
            fmt::format("{} is no size above 0; write it like 64, 1K or 64M", text));
    return number << shift;
}

std::string check_size(const std::string& text) {
    try {
        parse_size(text);
        return {};
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
}

}  // namespace sumwire::apps
