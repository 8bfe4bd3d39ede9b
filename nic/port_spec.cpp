#include "nic/port_spec.h"

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "nic/composite_port.h"
#include "nic/dpdk/dpdk_port.h"
#include "nic/fault/fault_port.h"
#include "nic/inproc/inproc_port.h"
#include "nic/port_text.h"
#include "nic/udp/udp_port.h"

namespace sumwire::nic {
namespace {

// From the smallest that carries a payload of 64 bytes to the largest that IPv4 has.
constexpr std::uint64_t least_mtu = 128;
constexpr std::uint64_t most_mtu = 65535;

using Port = std::unique_ptr<PacketPort>;

Port open_udp(PortText& text, const PortDefaults& defaults) {
    text.set_example("udp:bind=10.0.0.1:21335;mtu=9000");
    text.target_is_option();
    UdpPortOptions options;
    options.bind.port = defaults.udp_port;
    if (const auto bind = text.take_bind("bind")) {
        options.bind.address = bind->address;
        if (bind->port != 0) options.bind.port = bind->port;
    }
    options.mtu = text.take_number("mtu", least_mtu, most_mtu);
    options.offload = text.take_switch("offload").value_or(true);
    options.peer = defaults.peer;
    text.finish();
    return std::make_unique<UdpPort>(options);
}

Port open_inproc(PortText& text, const PortDefaults& defaults) {
    text.set_example("inproc:mynet;ip=127.1.0.5");
    if (text.target().empty()) text.reject("the network's name is missing");
    InprocPortOptions options;
    options.network = text.target();
    options.ip = text.take_address("ip");
    options.udp_port = defaults.udp_port;
    options.mtu = text.take_number("mtu", least_mtu, most_mtu).value_or(options.mtu);
    text.finish();
    return std::make_unique<InprocPort>(options);
}

UdpChecksum take_checksum(PortText& text) {
    const auto value = text.take("checksum");
    if (!value || *value == "auto") return UdpChecksum::automatic;
    if (*value == "on") return UdpChecksum::on;
    if (*value == "off") return UdpChecksum::off;
    text.reject(fmt::format("checksum=\"{}\" is not auto, on or off", *value));
}

Port open_dpdk(PortText& text, const PortDefaults& defaults) {
    text.set_example("dpdk:net_af_packet0,iface=eth0;ip=10.0.0.1");
    if (text.target().empty()) text.reject("the device is missing");
    DpdkPortOptions options;
    options.device = text.target();
    options.ip = text.take_address("ip");
    options.udp_port =
        static_cast<std::uint16_t>(text.take_number("port", 1, 65535).value_or(defaults.udp_port));
    options.prefix_length =
        static_cast<unsigned>(text.take_number("prefix", 0, 32).value_or(options.prefix_length));
    options.gateway = text.take_address("gateway");
    options.neighbors = text.take_neighbors("neighbor");
    options.mtu = text.take_number("mtu", least_mtu, most_mtu);
    options.checksum = take_checksum(text);
    options.zero_copy = text.take_switch("zero_copy").value_or(options.zero_copy);
    options.eal_arguments = text.take("eal").value_or("");
    options.peer = defaults.peer;
    text.finish();
    return make_dpdk_port(options);
}

Port open_one(std::string_view spec, const PortDefaults& defaults) {
    PortText text(spec);
    std::optional<FaultOptions> faults;
    if (const auto value = text.take("faults")) {
        try {
            faults = parse_faults(*value);
        } catch (const std::invalid_argument& error) {
            text.reject(error.what());
        }
    }

    Port port;
    if (text.kind() == "udp") {
        port = open_udp(text, defaults);
    } else if (text.kind() == "inproc") {
        port = open_inproc(text, defaults);
    } else if (text.kind() == "dpdk") {
        port = open_dpdk(text, defaults);
    } else {
        text.reject(
            fmt::format("\"{}\" is no kind of port; there are udp, inproc and dpdk", text.kind()));
    }
    if (faults) port = std::make_unique<FaultPort>(std::move(port), *faults);
    return port;
}

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\n");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

// Names the text where the port itself does not know it.
Port open_named(std::string_view spec, const PortDefaults& defaults) {
    try {
        return open_one(spec, defaults);
    } catch (const SetupError& error) {
        const std::string prefix = fmt::format("port \"{}\": ", spec);
        const std::string_view what = error.what();
        if (what.starts_with(prefix)) throw;
        throw SetupError(prefix + std::string(what));
    }
}

}  // namespace

std::unique_ptr<PacketPort> open_port(std::string_view spec, const PortDefaults& defaults) {
    constexpr std::string_view joint = " + ";
    std::vector<Port> ports;
    std::string_view rest = spec;
    while (true) {
        const auto end = rest.find(joint);
        ports.push_back(open_named(trim(rest.substr(0, end)), defaults));
        if (end == std::string_view::npos) break;
        rest = rest.substr(end + joint.size());
    }
    if (ports.size() == 1) return std::move(ports[0]);
    return std::make_unique<CompositePort>(std::move(ports));
}

}  // namespace sumwire::nic
