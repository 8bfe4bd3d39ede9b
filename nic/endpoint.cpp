#include "nic/endpoint.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

#include <charconv>
#include <memory>
#include <stdexcept>

namespace sumwire::nic {
namespace {

[[noreturn]] void reject(std::string_view text, const std::string& why) {
    throw std::invalid_argument(
        fmt::format("\"{}\" is no endpoint: {}; write ADDRESS or ADDRESS:PORT with an IPv4 address "
                    "or a name, for example \"10.0.0.1:{}\"",
                    text, why, default_udp_port));
}

std::uint16_t parse_port(std::string_view whole, std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc{} || end != text.data() + text.size() || port == 0) {
        reject(whole, fmt::format("\"{}\" is no port from 1 to 65535", text));
    }
    return port;
}

std::uint32_t resolve(std::string_view whole, const std::string& host) {
    addrinfo hints{};
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0) {
        reject(whole, fmt::format("\"{}\" does not resolve to an IPv4 address ({})", host,
                                  gai_strerror(error)));
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
    return ntohl(reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr.s_addr);
}

}  // namespace

Endpoint parse_endpoint(std::string_view text, std::uint16_t port_if_absent) {
    const auto colon = text.find(':');
    const std::string host(text.substr(0, colon));
    if (host.empty()) reject(text, "the address is missing");

    Endpoint endpoint;
    endpoint.port =
        colon == std::string_view::npos ? port_if_absent : parse_port(text, text.substr(colon + 1));
    in_addr address{};
    if (inet_pton(AF_INET, host.c_str(), &address) == 1) {
        endpoint.address = ntohl(address.s_addr);
    } else if (host.find_first_not_of("0123456789.") == std::string::npos) {
        // The resolver would read "10.1" as 10.0.0.1.
        reject(text, fmt::format("\"{}\" is no dotted IPv4 address", host));
    } else {
        endpoint.address = resolve(text, host);
    }
    return endpoint;
}

std::string to_string(const Endpoint& endpoint) {
    return fmt::format("{}.{}.{}.{}:{}", endpoint.address >> 24, (endpoint.address >> 16) & 0xff,
                       (endpoint.address >> 8) & 0xff, endpoint.address & 0xff, endpoint.port);
}

}  // namespace sumwire::nic
