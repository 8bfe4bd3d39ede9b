// An Ethernet device of DPDK, attached at run time, with one receive and one transmit queue.
#pragma once

#include <rte_ethdev.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "nic/dpdk/driver.h"
#include "nic/dpdk/neighbor.h"

struct rte_mempool;

namespace sumwire::nic {

class Device {
  public:
    // Attaches what `text` ("net_memif0,role=client") names; detaches it when it goes.
    // Throws SetupError, also if this process has the device already.
    static Device attach(const std::string& text);
    // Takes over a device that exists.
    static Device adopt(std::uint16_t port_id);

    Device(Device&& other) noexcept;
    Device& operator=(Device&&) = delete;
    // Stops, closes and detaches.
    ~Device();

    struct Setup {
        std::optional<std::size_t> mtu;  // empty: the driver's default, or not settable
        bool checksum_offload = true;    // where the device can
        rte_mempool* receive_pool = nullptr;
    };
    // Once. Throws SetupError.
    void start(const Setup& setup);

    std::uint16_t port_id() const { return port_id_; }
    const std::string& name() const { return name_; }
    const std::string& driver() const { return driver_; }
    const DriverTraits& traits() const { return traits_; }
    // Behind it is a bus with real devices, which reach memory by themselves.
    bool physical() const { return physical_; }
    const rte_eth_dev_info& info() const { return info_; }
    int socket() const;
    MacAddress mac() const;
    // Of the kernel's interface behind the device; empty if there is none.
    const std::string& interface() const { return interface_; }

    // After start().
    bool computes_udp_checksums() const {
        return transmit_offloads_ & RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
    }
    bool gathers() const { return transmit_offloads_ & RTE_ETH_TX_OFFLOAD_MULTI_SEGS; }
    bool link_is_up() const;
    // No use in calling the driver: it waits for its peer, or could not be restarted.
    bool waits_for_peer() const { return stopped_ || (traits_.needs_gate && !link_is_up()); }
    // Hands back buffers that were sent, from whatever the driver still holds.
    void reclaim();
    // Drops what the driver has not sent. From inside the gate, if the device needs it.
    void restart();

  private:
    explicit Device(std::uint16_t port_id);
    void set_up_queues(const Setup& setup, const rte_eth_conf& conf);
    void start_driver();
    void watch_over();
    void check(int result, const char* what) const;

    std::uint16_t port_id_;
    bool owned_ = true;
    bool gated_ = false;
    bool memif_client_ = false;
    bool stopped_ = false;
    rte_eth_dev_info info_{};
    std::string name_;
    std::string driver_;
    std::string interface_;
    DriverTraits traits_;
    bool physical_ = false;
    std::uint64_t transmit_offloads_ = 0;
};

}  // namespace sumwire::nic
