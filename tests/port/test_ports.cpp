// The conformance suite over the ports that need nothing but this process and its kernel.
#include <atomic>
#include <string>

#include "nic/composite_port.h"
#include "nic/fault/fault_port.h"
#include "nic/inproc/inproc_port.h"
#include "nic/udp/udp_port.h"
#include "tests/port/conformance.h"

namespace sumwire::nic {
namespace {

constexpr std::uint32_t loopback = 0x7f000001;

std::string fresh_network() {
    static std::atomic<int> count = 0;
    return "conformance" + std::to_string(count++);
}

std::unique_ptr<PacketPort> make_inproc(const std::string& network, std::size_t mtu = 9000) {
    return std::make_unique<InprocPort>(InprocPortOptions{network, {}, 0, mtu});
}

std::unique_ptr<PacketPort> make_udp(std::optional<std::size_t> mtu, bool offload) {
    return std::make_unique<UdpPort>(UdpPortOptions{{loopback, 0, 0}, mtu, {}, offload});
}

PortPair connect(std::unique_ptr<PacketPort> a, std::unique_ptr<PacketPort> b, bool lossless) {
    PortPair pair;
    pair.a_seen_from_b = a->info().local;
    pair.b_seen_from_a = b->info().local;
    pair.a = std::move(a);
    pair.b = std::move(b);
    pair.lossless = lossless;
    return pair;
}

PortPair inproc_pair(std::size_t mtu = 9000) {
    const std::string network = fresh_network();
    auto a = make_inproc(network, mtu);
    return connect(std::move(a), make_inproc(network, mtu), true);
}

PortPair udp_pair(std::optional<std::size_t> mtu, bool offload) {
    auto a = make_udp(mtu, offload);
    return connect(std::move(a), make_udp(mtu, offload), false);
}

// The decorator in front of both; with nothing to inject it must be invisible.
PortPair through_faults(PortPair pair) {
    pair.a = std::make_unique<FaultPort>(std::move(pair.a), FaultOptions{});
    pair.b = std::make_unique<FaultPort>(std::move(pair.b), FaultOptions{});
    return pair;
}

// b becomes the second member of a composite whose first one leads nowhere.
PortPair behind_composite(PortPair pair, std::unique_ptr<PacketPort> other) {
    std::vector<std::unique_ptr<PacketPort>> members;
    members.push_back(std::move(other));
    members.push_back(std::move(pair.b));
    pair.b = std::make_unique<CompositePort>(std::move(members));
    pair.a_seen_from_b.link = 1;
    return pair;
}

// The same port on the side that only transmits to one of two links.
PortPair behind_composites(PortPair pair) {
    pair = behind_composite(std::move(pair), make_inproc(fresh_network()));
    std::vector<std::unique_ptr<PacketPort>> members;
    members.push_back(std::move(pair.a));
    members.push_back(make_inproc(fresh_network()));
    pair.a = std::make_unique<CompositePort>(std::move(members));
    return pair;
}

INSTANTIATE_TEST_SUITE_P(
    Inproc, PortConformance,
    ::testing::Values(PairKind{"jumbo", [] { return inproc_pair(); }},
                      PairKind{"small_mtu", [] { return inproc_pair(576); }},
                      PairKind{"faults", [] { return through_faults(inproc_pair()); }},
                      PairKind{"composite", [] { return behind_composites(inproc_pair()); }}),
    name_of_kind);

INSTANTIATE_TEST_SUITE_P(
    Udp, PortConformance,
    ::testing::Values(PairKind{"loopback", [] { return udp_pair({}, true); }},
                      PairKind{"ethernet_mtu", [] { return udp_pair(1500, true); }},
                      PairKind{"no_offload", [] { return udp_pair(1500, false); }},
                      PairKind{"faults", [] { return through_faults(udp_pair({}, true)); }},
                      PairKind{"composite",
                               [] {
                                   return behind_composite(udp_pair(9000, true),
                                                           make_udp(9000, true));
                               }}),
    name_of_kind);

}  // namespace
}  // namespace sumwire::nic
