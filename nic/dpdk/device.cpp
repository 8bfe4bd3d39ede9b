#include "nic/dpdk/device.h"

#include <fmt/format.h>
#include <net/if.h>
#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_errno.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "nic/dpdk/eal_output.h"
#include "nic/dpdk/interrupt_gate.h"
#include "nic/port.h"

namespace sumwire::nic {
namespace {

using namespace std::chrono_literals;

constexpr std::uint16_t ring_size = 1024;
constexpr std::uint16_t queue = 0;

// How long a memif client waits for the socket of its server.
constexpr auto server_patience = 3s;
constexpr auto server_retry = 20ms;
constexpr Time reconnect_pause = 250ms;

std::string device_name(const std::string& text) {
    std::string name = text.substr(0, text.find(','));
    if (name.starts_with("pci:")) name.erase(0, 4);
    return name;
}

std::string quoted(const std::string& said) {
    return said.empty() ? said : ": " + said;
}

const char* attach_remedy(const std::string& name) {
    if (driver_traits(name).kernel_interface) {
        return "check that the interface exists here (ip link) and run as root";
    }
    if (name.starts_with("net_") || name.starts_with("eth_")) {
        return "check the driver's name and options, and that its driver is installed "
               "(Debian: librte-meta-net)";
    }
    return "check that the device exists and is bound to a driver for DPDK "
           "(dpdk-devbind.py --status), and run as root";
}

std::uint16_t find_port(const std::string& name) {
    std::uint16_t port_id = RTE_MAX_ETHPORTS;
    if (rte_eth_dev_get_port_by_name(name.c_str(), &port_id) == 0) return port_id;
    // Some drivers name the port after more than the device.
    RTE_ETH_FOREACH_DEV(port_id) {
        rte_eth_dev_info info{};
        if (rte_eth_dev_info_get(port_id, &info) == 0 && name == rte_dev_name(info.device)) {
            return port_id;
        }
    }
    return RTE_MAX_ETHPORTS;
}

}  // namespace

Device Device::attach(const std::string& text) {
    const std::string name = device_name(text);
    std::uint16_t port_id = find_port(name);
    if (port_id == RTE_MAX_ETHPORTS) {
        const std::uint64_t mark = EalMessages::instance().mark();
        const int result = [&] {
            const PrintCapture capture;
            return rte_dev_probe(text.c_str());
        }();
        port_id = find_port(name);
        if (result != 0 || port_id == RTE_MAX_ETHPORTS) {
            const std::string said = EalMessages::instance().since(mark);
            throw SetupError(fmt::format("DPDK cannot open '{}' ({}){}: {}", text,
                                         rte_strerror(result == 0 ? ENODEV : -result), quoted(said),
                                         attach_remedy(name)));
        }
    }
    Device device(port_id);
    const auto role = device_option(text, "role");
    device.memif_client_ = name.starts_with("net_memif") && role != "server" && role != "master";
    return device;
}

Device Device::adopt(std::uint16_t port_id) {
    if (!rte_eth_dev_is_valid_port(port_id)) {
        throw SetupError(fmt::format("DPDK has no port {}: create it first", port_id));
    }
    return Device(port_id);
}

Device::Device(std::uint16_t port_id) : port_id_(port_id) {
    check(rte_eth_dev_info_get(port_id, &info_), "describe");
    driver_ = info_.driver_name;
    name_ = rte_dev_name(info_.device);
    rte_eth_dev_owner owner{};
    rte_eth_dev_owner_new(&owner.id);
    std::snprintf(owner.name, sizeof owner.name, "sumwire");
    if (rte_eth_dev_owner_set(port_id, &owner) != 0) {
        throw SetupError(fmt::format(
            "the DPDK device '{}' is in use in this process: give this port another number or "
            "device",
            name_));
    }
    traits_ = driver_traits(driver_);
    physical_ = std::string_view(rte_bus_name(rte_dev_bus(info_.device))) != "vdev";
    char interface[IF_NAMESIZE];
    // A tap's interface is the kernel's own end.
    if (info_.if_index != 0 && driver_ != "net_tap" &&
        if_indextoname(info_.if_index, interface) != nullptr) {
        interface_ = interface;
    }
}

Device::Device(Device&& other) noexcept
    : port_id_(other.port_id_),
      owned_(std::exchange(other.owned_, false)),
      gated_(other.gated_),
      memif_client_(other.memif_client_),
      stopped_(other.stopped_),
      info_(other.info_),
      name_(std::move(other.name_)),
      driver_(std::move(other.driver_)),
      interface_(std::move(other.interface_)),
      traits_(other.traits_),
      physical_(other.physical_),
      transmit_offloads_(other.transmit_offloads_) {}

Device::~Device() {
    if (!owned_) return;
    const PrintCapture capture;
    const InsideGate inside(gated_);
    rte_eth_dev_stop(port_id_);
    rte_eth_dev_close(port_id_);
    rte_dev_remove(info_.device);
    if (gated_) InterruptGate::instance().close(port_id_);
}

void Device::check(int result, const char* what) const {
    if (result == 0) return;
    throw SetupError(
        fmt::format("DPDK cannot {} device '{}' ({}): check the device's options and "
                    "the kernel's log",
                    what, name_.empty() ? driver_ : name_, rte_strerror(-result)));
}

void Device::start(const Setup& setup) {
    rte_eth_conf conf{};
    transmit_offloads_ = info_.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    if (setup.checksum_offload) {
        constexpr std::uint64_t both = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
        if ((info_.tx_offload_capa & both) == both) transmit_offloads_ |= both;
        conf.rxmode.offloads = info_.rx_offload_capa & RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
    }
    conf.txmode.offloads = transmit_offloads_;
    if (setup.mtu) conf.rxmode.mtu = static_cast<std::uint32_t>(*setup.mtu);
    check(rte_eth_dev_configure(port_id_, 1, 1, &conf), "configure");
    set_up_queues(setup, conf);
    if (traits_.needs_gate) watch_over();
    start_driver();
}

void Device::set_up_queues(const Setup& setup, const rte_eth_conf& conf) {
    std::uint16_t receive_ring = ring_size;
    std::uint16_t transmit_ring = ring_size;
    check(rte_eth_dev_adjust_nb_rx_tx_desc(port_id_, &receive_ring, &transmit_ring), "size");
    rte_eth_rxconf receive = info_.default_rxconf;
    receive.offloads = conf.rxmode.offloads;
    rte_eth_txconf transmit = info_.default_txconf;
    transmit.offloads = conf.txmode.offloads;
    const auto numa = static_cast<unsigned>(socket());
    const std::uint64_t mark = EalMessages::instance().mark();
    const int result = [&] {
        const PrintCapture capture;
        const int failure = rte_eth_rx_queue_setup(port_id_, queue, receive_ring, numa, &receive,
                                                   setup.receive_pool);
        if (failure != 0) return failure;
        return rte_eth_tx_queue_setup(port_id_, queue, transmit_ring, numa, &transmit);
    }();
    if (result == 0) return;
    throw SetupError(fmt::format(
        "DPDK cannot set up the queues of '{}' ({}){}: check the device's options, and for "
        "net_af_xdp that nobody else has an XDP program or socket on the interface; DPDK itself "
        "lets go of it when the process ends",
        name_, rte_strerror(-result), quoted(EalMessages::instance().since(mark))));
}

void Device::start_driver() {
    const bool may_wait = memif_client_;
    const auto deadline = std::chrono::steady_clock::now() + server_patience;
    while (true) {
        const std::uint64_t mark = EalMessages::instance().mark();
        const int result = [&] {
            const PrintCapture capture;
            const InsideGate inside(gated_);
            return rte_eth_dev_start(port_id_);
        }();
        if (result == 0) return;
        if (!may_wait || std::chrono::steady_clock::now() > deadline) {
            const std::string said = quoted(EalMessages::instance().since(mark));
            throw SetupError(
                may_wait ? fmt::format("the memif server of '{}' is not there{}: start the side "
                                       "with role=server first, with the same socket and id",
                                       name_, said)
                         : fmt::format("DPDK cannot start '{}' ({}){}: check the device's options "
                                       "and the kernel's log",
                                       name_, rte_strerror(-result), said));
        }
        std::this_thread::sleep_for(server_retry);
    }
}

// A memif client connects once, when it is started: a server that refused it because it was not
// ready itself, or that was restarted, is found by starting again.
void Device::watch_over() {
    const auto attend = [port_id = port_id_, last = steady_now()](Time now) mutable {
        rte_eth_link link{};
        rte_eth_link_get_nowait(port_id, &link);
        if (link.link_status == RTE_ETH_LINK_UP) {
            last = now;
        } else if (now - last > reconnect_pause) {
            last = now;
            rte_eth_dev_stop(port_id);
            rte_eth_dev_start(port_id);
        }
    };
    InterruptGate::instance().open(port_id_, memif_client_ ? attend : InterruptGate::Attend{});
    gated_ = true;
}

int Device::socket() const {
    return std::max(rte_eth_dev_socket_id(port_id_), SOCKET_ID_ANY);
}

MacAddress Device::mac() const {
    rte_ether_addr address{};
    rte_eth_macaddr_get(port_id_, &address);
    MacAddress mac;
    std::copy(std::begin(address.addr_bytes), std::end(address.addr_bytes), mac.begin());
    return mac;
}

bool Device::link_is_up() const {
    rte_eth_link link{};
    return rte_eth_link_get_nowait(port_id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

void Device::reclaim() {
    rte_eth_tx_done_cleanup(port_id_, queue, 0);
}

void Device::restart() {
    const PrintCapture capture;
    rte_eth_dev_stop(port_id_);
    // A memif client that finds no server is started again by who watches over it.
    stopped_ = rte_eth_dev_start(port_id_) != 0 && !memif_client_;
}

}  // namespace sumwire::nic
