#include "tests/port/dpdk/links.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>
#include <rte_eth_ring.h>
#include <rte_ring.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <thread>
#include <utility>

#include "nic/dpdk/eal.h"
#include "nic/udp/udp_port.h"

namespace sumwire::nic {
namespace {

unsigned next_number() {
    static std::atomic<unsigned> number{0};
    return number.fetch_add(1);
}

void enter_private_network() {
    static const bool entered = unshare(CLONE_NEWNET) == 0;
    if (!entered) throw Unavailable("no network namespace of our own: run as root");
}

void silence_kernel(const std::string& interface) {
    std::ofstream("/proc/sys/net/ipv6/conf/" + interface + "/disable_ipv6") << 1;
}

PortPair connect(std::shared_ptr<void> world, std::unique_ptr<PacketPort> a,
                 std::unique_ptr<PacketPort> b, bool lossless) {
    PortPair pair;
    pair.world = std::move(world);
    pair.a_seen_from_b = a->info().local;
    pair.b_seen_from_a = b->info().local;
    pair.a = std::move(a);
    pair.b = std::move(b);
    acquaint(pair);
    pair.lossless = lossless;
    return pair;
}

DpdkPortOptions adjusted(DpdkPortOptions options,
                         const std::function<void(DpdkPortOptions&)>& adjust) {
    if (adjust) adjust(options);
    return options;
}

std::unique_ptr<PacketPort> make_or_skip(const DpdkPortOptions& options) {
    try {
        return make_dpdk_port(options);
    } catch (const SetupError& error) {
        if (geteuid() == 0) throw;
        throw Unavailable(error.what());
    }
}

}  // namespace

DpdkPortOptions options_of(std::string device, std::uint32_t ip) {
    DpdkPortOptions options;
    options.device = std::move(device);
    options.ip = ip;
    options.udp_port = test_port;
    return options;
}

RingLink::RingLink() {
    start_eal({}, std::nullopt);
    const unsigned number = next_number();
    const auto ring = [&](const char* direction) {
        return rte_ring_create(fmt::format("{}{}", direction, number).c_str(), 1024, SOCKET_ID_ANY,
                               RING_F_SP_ENQ | RING_F_SC_DEQ);
    };
    left_to_right = ring("lr");
    right_to_left = ring("rl");
    const auto device = [&](const char* side, rte_ring* from, rte_ring* to) {
        const int id =
            rte_eth_from_rings(fmt::format("{}{}", side, number).c_str(), &from, 1, &to, 1, 0);
        if (id < 0) throw std::runtime_error("no ring device");
        return static_cast<std::uint16_t>(id);
    };
    left_device = device("l", right_to_left, left_to_right);
    right_device = device("r", left_to_right, right_to_left);
}

RingLink::~RingLink() {
    rte_ring_free(left_to_right);
    rte_ring_free(right_to_left);
}

VethLink::VethLink(unsigned mtu) {
    enter_private_network();
    ip("link add swl type veth peer name swr");
    for (const std::string interface : {"swl", "swr"}) {
        silence_kernel(interface);
        ip(fmt::format("link set {} mtu {} up", interface, mtu));
    }
}

VethLink::~VethLink() {
    // It may be on its way out already, together with a namespace that had the other end.
    const bool gone = poll_until([] {
        return if_nametoindex("swl") == 0 || std::system("ip link del swl 2>/dev/null") == 0;
    });
    EXPECT_TRUE(gone) << "swl stays";
}

FarNamespace::FarNamespace() {
    std::exception_ptr failure;
    std::thread([&] {
        try {
            if (unshare(CLONE_NEWNET) != 0) {
                throw Unavailable("no further network namespace: run as root");
            }
            descriptor_ = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
        } catch (...) {
            failure = std::current_exception();
        }
    }).join();
    if (failure) std::rethrow_exception(failure);
    ip(fmt::format("link set swr netns /proc/{}/fd/{}", getpid(), descriptor_));
    run([] {
        silence_kernel("swr");
        ip("addr add 10.83.0.2/24 dev swr");
        ip("link set swr up");
    });
}

FarNamespace::~FarNamespace() {
    if (descriptor_ >= 0) close(descriptor_);
}

void FarNamespace::run(const std::function<void()>& action) const {
    std::exception_ptr failure;
    std::thread([&] {
        try {
            if (setns(descriptor_, CLONE_NEWNET) != 0) throw Unavailable("setns: run as root");
            action();
        } catch (...) {
            failure = std::current_exception();
        }
    }).join();
    if (failure) std::rethrow_exception(failure);
}

void ip(const std::string& arguments) {
    const std::string command = "ip " + arguments + " >/dev/null 2>&1";
    if (std::system(command.c_str()) != 0) {
        throw Unavailable("'ip " + arguments + "' fails: run as root, with iproute2");
    }
}

void acquaint(PortPair& pair) {
    Traffic(*pair.a, *pair.b, pair.b_seen_from_a, pair.a_seen_from_b, false)
        .deliver(make_messages(1, 64));
    Traffic(*pair.b, *pair.a, pair.a_seen_from_b, pair.b_seen_from_a, false)
        .deliver(make_messages(1, 64));
    // Late copies would be news to a test that expects none.
    for (PacketPort* port : {pair.a.get(), pair.b.get()}) {
        std::array<RxPacket, 64> burst;
        for (int empty = 0; empty < 20;) {
            const std::size_t count = port->receive(burst);
            port->release(std::span(burst).first(count));
            empty = count == 0 ? empty + 1 : 0;
            port->wait(std::chrono::microseconds(50));
        }
    }
}

PortPair ring_pair(const std::function<void(DpdkPortOptions&)>& adjust) {
    auto link = std::make_shared<RingLink>();
    auto a = adopt_dpdk_port(link->left_device, adjusted(options_of("", left_address), adjust));
    auto b = adopt_dpdk_port(link->right_device, adjusted(options_of("", right_address), adjust));
    return connect(link, std::move(a), std::move(b), true);
}

PortPair memif_pair(const std::function<void(DpdkPortOptions&)>& adjust) {
    const unsigned number = next_number();
    const auto device = [&](const char* role, unsigned index) {
        return fmt::format("net_memif{},role={},id=0,socket=sw-{}-{},socket-abstract=yes",
                           2 * number + index, role, getpid(), number);
    };
    auto a = make_dpdk_port(adjusted(options_of(device("server", 0), left_address), adjust));
    auto b = make_dpdk_port(adjusted(options_of(device("client", 1), right_address), adjust));
    return connect(nullptr, std::move(a), std::move(b), true);
}

PortPair packet_socket_pair(unsigned mtu, const std::function<void(DpdkPortOptions&)>& adjust) {
    auto link = std::make_shared<VethLink>(mtu);
    auto a = make_or_skip(adjusted(options_of("net_af_packet0,iface=swl", left_address), adjust));
    auto b = make_or_skip(adjusted(options_of("net_af_packet1,iface=swr", right_address), adjust));
    return connect(link, std::move(a), std::move(b), false);
}

PortPair xdp_pair() {
    auto link = std::make_shared<VethLink>();
    auto a = make_or_skip(options_of("net_af_xdp0,iface=swl", left_address));
    auto b = make_or_skip(options_of("net_af_xdp1,iface=swr", right_address));
    return connect(link, std::move(a), std::move(b), false);
}

PortPair kernel_peer_pair(const std::string& device) {
    struct World {
        VethLink link;
        FarNamespace far;
    };
    auto world = std::make_shared<World>();
    auto a = make_or_skip(options_of(device + ",iface=swl", left_address));
    std::unique_ptr<PacketPort> b;
    world->far.run([&] {
        b = std::make_unique<UdpPort>(UdpPortOptions{
            .bind = {right_address, test_port, 0}, .mtu = 1500, .peer = {}, .offload = false});
    });
    return connect(world, std::move(a), std::move(b), false);
}

}  // namespace sumwire::nic
