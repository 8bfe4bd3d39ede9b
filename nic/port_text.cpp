#include "nic/port_text.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "nic/port.h"

namespace sumwire::nic {
namespace {

std::optional<std::uint32_t> to_address(std::string_view text) {
    in_addr address{};
    if (inet_pton(AF_INET, std::string(text).c_str(), &address) != 1) return std::nullopt;
    return ntohl(address.s_addr);
}

// Six pairs of hexadecimal digits with colons between them.
std::optional<MacAddress> to_mac(std::string_view text) {
    MacAddress mac{};
    if (text.size() != 3 * mac.size() - 1) return std::nullopt;
    for (std::size_t i = 0; i < mac.size(); ++i) {
        const char* pair = text.data() + 3 * i;
        if (i + 1 < mac.size() && pair[2] != ':') return std::nullopt;
        const auto [end, error] = std::from_chars(pair, pair + 2, mac[i], 16);
        if (error != std::errc{} || end != pair + 2) return std::nullopt;
    }
    return is_unicast(mac) ? std::optional(mac) : std::nullopt;
}

}  // namespace

PortText::PortText(std::string_view text) : text_(text) {
    auto end = text.find(';');
    const std::string_view head = text.substr(0, end);
    const auto colon = head.find(':');
    kind_ = head.substr(0, colon);
    if (colon != std::string_view::npos) {
        target_ = head.substr(colon + 1);
        if (target_.empty()) reject(fmt::format("nothing follows \"{}:\"", kind_));
    }
    while (end != std::string_view::npos) {
        const auto next = text.find(';', end + 1);
        add_option(text.substr(end + 1, next == std::string_view::npos ? next : next - end - 1));
        end = next;
    }
}

void PortText::add_option(std::string_view text) {
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) {
        reject(fmt::format("\"{}\" is no option, which has the form name=value", text));
    }
    if (equals + 1 == text.size()) reject(fmt::format("option \"{}\" has no value", text));
    options_.push_back({text.substr(0, equals), text.substr(equals + 1)});
}

void PortText::target_is_option() {
    if (!target_.empty()) add_option(target_);
    target_ = {};
}

std::optional<std::string_view> PortText::take(std::string_view name) {
    known_.push_back(name);
    const auto at = std::ranges::find(options_, name, &Option::name);
    if (at == options_.end()) return std::nullopt;
    const std::string_view value = at->value;
    options_.erase(at);
    return value;
}

std::vector<std::string_view> PortText::take_all(std::string_view name) {
    std::vector<std::string_view> values;
    while (const auto value = take(name)) {
        values.push_back(*value);
        known_.pop_back();
    }
    return values;
}

std::optional<std::uint64_t> PortText::take_number(std::string_view name, std::uint64_t least,
                                                   std::uint64_t most) {
    const auto value = take(name);
    if (!value) return std::nullopt;
    return parse_number(name, *value, least, most);
}

std::optional<std::uint32_t> PortText::take_address(std::string_view name) {
    const auto value = take(name);
    if (!value) return std::nullopt;
    return parse_address(name, *value);
}

std::optional<Endpoint> PortText::take_bind(std::string_view name) {
    const auto value = take(name);
    if (!value) return std::nullopt;
    const auto colon = value->find(':');
    Endpoint endpoint;
    endpoint.address = parse_address(name, value->substr(0, colon));
    if (colon != std::string_view::npos) {
        const std::string_view port = value->substr(colon + 1);
        endpoint.port = static_cast<std::uint16_t>(parse_number(name, port, 0, 65535));
    }
    return endpoint;
}

std::optional<bool> PortText::take_switch(std::string_view name) {
    const auto value = take(name);
    if (!value) return std::nullopt;
    if (*value != "on" && *value != "off") {
        reject(fmt::format("{}=\"{}\" is neither on nor off", name, *value));
    }
    return *value == "on";
}

std::vector<Neighbor> PortText::take_neighbors(std::string_view name) {
    std::vector<Neighbor> neighbors;
    for (const std::string_view value : take_all(name)) {
        const auto at = value.find('@');
        const auto mac = at == std::string_view::npos ? std::nullopt : to_mac(value.substr(at + 1));
        const auto address = to_address(value.substr(0, at));
        if (!mac || !address) {
            reject(
                fmt::format("{}=\"{}\" is no IPv4 address and MAC of one station, such as "
                            "10.0.0.2@02:00:00:00:00:01",
                            name, value));
        }
        neighbors.push_back({*address, *mac});
    }
    return neighbors;
}

void PortText::finish() const {
    if (options_.empty()) return;
    const std::string_view name = options_.front().name;
    if (std::ranges::find(known_, name) != known_.end()) {
        reject(fmt::format("option \"{}\" is given twice", name));
    }
    std::string known;
    for (const std::string_view option : known_)
        known.append(" ").append(option);
    reject(fmt::format("option \"{}\" is unknown; {} has{}", name, kind_, known));
}

void PortText::reject(const std::string& why) const {
    throw SetupError(
        fmt::format("port \"{}\": {}; write for example \"{}\"", text_, why, example_));
}

std::uint32_t PortText::parse_address(std::string_view name, std::string_view value) const {
    const auto address = to_address(value);
    if (!address) reject(fmt::format("{}=\"{}\" is no dotted IPv4 address", name, value));
    return *address;
}

std::uint64_t PortText::parse_number(std::string_view name, std::string_view value,
                                     std::uint64_t least, std::uint64_t most) const {
    std::uint64_t number = 0;
    const char* end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc{} || stop != end || number < least || number > most) {
        reject(fmt::format("{}: \"{}\" is no number from {} to {}", name, value, least, most));
    }
    return number;
}

}  // namespace sumwire::nic
