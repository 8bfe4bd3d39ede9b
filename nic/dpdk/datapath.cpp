#include "nic/dpdk/datapath.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "nic/byte_order.h"
#include "nic/dpdk/checksum.h"
#include "nic/dpdk/eal.h"
#include "nic/dpdk/interrupt_gate.h"

namespace sumwire::nic {
namespace {

constexpr std::uint16_t queue = 0;
constexpr std::size_t udp_checksum_offset = network_header_bytes - 2;
constexpr std::chrono::microseconds longest_nap{50};
constexpr std::chrono::milliseconds announcement_pause{10};
// To find the port between two bursts of the thread that uses it, which may do nothing else.
constexpr unsigned attempts_between_bursts = 100;
constexpr unsigned attempts_for_restart = 100'000;

std::span<std::byte> bytes_of(rte_mbuf* frame) {
    return {rte_pktmbuf_mtod(frame, std::byte*), rte_pktmbuf_data_len(frame)};
}

}  // namespace

class Datapath::Turn {
  public:
    explicit Turn(Datapath& port, unsigned attempts = 1)
        : busy_(port.busy_), gated_(port.device_.traits().needs_gate), taken_(take()) {
        while (!taken_ && --attempts != 0) {
            std::this_thread::yield();
            taken_ = take();
        }
    }
    ~Turn() {
        if (!taken_) return;
        if (gated_) InterruptGate::instance().leave();
        busy_.clear(std::memory_order_release);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    explicit operator bool() const { return taken_; }

  private:
    bool take() {
        if (busy_.test_and_set(std::memory_order_acquire)) return false;
        if (!gated_ || InterruptGate::instance().try_enter()) return true;
        busy_.clear(std::memory_order_release);
        return false;
    }

    std::atomic_flag& busy_;
    bool gated_;
    bool taken_;
};

Datapath::Datapath(Device device, DatapathPlan plan)
    : info_(std::move(plan.info)),
      receive_pool_("rx", plan.buffers, plan.buffer_bytes + RTE_PKTMBUF_HEADROOM, device.socket()),
      transmit_pool_("tx", plan.buffers, plan.buffer_bytes + RTE_PKTMBUF_HEADROOM, device.socket()),
      loan_pool_("loan", plan.buffers, 0, device.socket()),
      device_(std::move(device)),
      arp_(plan.host),
      announcement_{.request = true,
                    .sender_mac = plan.host.mac,
                    .sender = plan.host.address,
                    .target_mac = {},
                    .target = plan.host.address},
      path_{.source_mac = plan.host.mac, .destination_mac = {}, .from = info_.local, .to = {}},
      peer_(plan.peer),
      udp_checksums_(plan.udp_checksums),
      zero_copy_(plan.zero_copy) {
    plan.device.receive_pool = receive_pool_.get();
    device_.start(plan.device);
    offload_ = udp_checksums_ && device_.computes_udp_checksums();
}

Datapath::~Datapath() = default;

std::size_t Datapath::transmit(std::span<const TxPacket> burst) {
    const Turn turn(*this);
    std::size_t taken = 0;
    if (turn && device_.waits_for_peer()) {
        pending_.drop();
        taken = burst.size();
    } else if (turn) {
        register_eal_thread();
        const Time now = steady_now();
        while (send_pending() && taken < burst.size()) {
            const auto some = burst.subspan(taken, std::min(burst_size, burst.size() - taken));
            const std::size_t count = transmit_some(some, now);
            taken += count;
            if (count < some.size()) break;
        }
    }
    counters_.would_block(burst.size() - taken);
    return taken;
}

std::size_t Datapath::transmit_some(std::span<const TxPacket> burst, Time now) {
    std::array<rte_mbuf*, burst_size> frames;
    if (rte_pktmbuf_alloc_bulk(transmit_pool_.get(), frames.data(),
                               static_cast<unsigned>(burst.size())) != 0) {
        device_.reclaim();
        return 0;
    }
    std::array<std::size_t, burst_size + 1> bytes{};  // of the frames before each
    std::size_t ready = 0;
    for (std::size_t i = 0; i < burst.size(); ++i) {
        rte_mbuf* const frame = frames[i];
        const MacAddress* const mac = next_hop(burst[i].to.address, now);
        if (mac == nullptr || !fill(frame, burst[i], *mac)) {
            rte_pktmbuf_free(frame);
            continue;
        }
        frames[ready] = frame;
        bytes[ready + 1] = bytes[ready] + burst[i].header.size() + burst[i].payload.size();
        ++ready;
    }
    // What the device has no room for is not built again: it goes first next time. With the link
    // down nothing can be tried later, and it is lost.
    std::size_t taken = send({frames.data(), ready});
    pending_.put({frames.data() + taken, ready - taken});
    if (!pending_.empty() && !device_.link_is_up()) {
        pending_.drop();
    } else {
        taken = ready;
    }
    counters_.transmitted(taken, bytes[taken]);
    return burst.size();
}

bool Datapath::send_pending() {
    if (pending_.empty()) return true;
    pending_.pop(send(pending_.frames()));
    if (!pending_.empty() && !device_.link_is_up()) pending_.drop();
    return pending_.empty();
}

const MacAddress* Datapath::next_hop(std::uint32_t address, Time now) {
    const ArpTable::Resolution resolution = arp_.resolve(address, now);
    if (resolution.ask) send_arp(*resolution.ask);
    return resolution.mac;
}

bool Datapath::fill(rte_mbuf* frame, const TxPacket& packet, const MacAddress& mac) {
    const std::size_t datagram = packet.header.size() + packet.payload.size();
    if (datagram > info_.max_datagram) return false;
    path_.destination_mac = mac;
    path_.to = packet.to;
    const auto head = static_cast<std::uint16_t>(network_header_bytes + packet.header.size());
    auto* const bytes = reinterpret_cast<std::byte*>(rte_pktmbuf_append(frame, head));
    write_udp_headers(path_, datagram,
                      std::span<std::byte, network_header_bytes>(bytes, network_header_bytes));
    std::copy(packet.header.begin(), packet.header.end(), bytes + network_header_bytes);
    if (!append_payload(frame, packet)) return false;
    if (udp_checksums_) finish_checksum(frame, packet);
    if (frame->pkt_len < min_frame_bytes && frame->nb_segs == 1) {
        const auto padding = static_cast<std::uint16_t>(min_frame_bytes - frame->pkt_len);
        std::memset(rte_pktmbuf_append(frame, padding), 0, padding);
    }
    return true;
}

bool Datapath::append_payload(rte_mbuf* frame, const TxPacket& packet) {
    if (packet.payload.empty()) return true;
    if (packet.region != nullptr) {
        rte_mbuf* const loan = rte_pktmbuf_alloc(loan_pool_.get());
        if (loan != nullptr) {
            const bool lent =
                static_cast<BorrowedMemory*>(packet.region)->lend(loan, packet.payload);
            if (lent && rte_pktmbuf_chain(frame, loan) == 0) return true;
            rte_pktmbuf_free(loan);
        }
        // Out of loans: a copy serves as well.
    }
    char* const room = rte_pktmbuf_append(frame, static_cast<std::uint16_t>(packet.payload.size()));
    if (room == nullptr) return false;
    std::memcpy(room, packet.payload.data(), packet.payload.size());
    return true;
}

void Datapath::finish_checksum(rte_mbuf* frame, const TxPacket& packet) {
    auto* const headers = rte_pktmbuf_mtod(frame, std::byte*);
    const std::span<const std::byte> udp(headers + network_header_bytes - udp_header_bytes,
                                         udp_header_bytes);
    const auto udp_bytes = load_big<std::uint16_t>(udp.data() + 4);
    std::uint16_t checksum;
    if (offload_) {
        checksum = pseudo_header_sum(path_.from.address, packet.to.address, udp_bytes);
        frame->l2_len = ethernet_header_bytes;
        frame->l3_len = ipv4_header_bytes;
        frame->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM;
        // The device starts from zero.
        store_big(headers + ethernet_header_bytes + 10, std::uint16_t{0});
    } else {
        checksum =
            udp_checksum(path_.from.address, packet.to.address, udp, packet.header, packet.payload);
    }
    store_big(headers + udp_checksum_offset, checksum);
}

std::size_t Datapath::send(std::span<rte_mbuf*> frames) {
    std::size_t gone = 0;
    while (gone < frames.size()) {
        const auto rest = frames.subspan(gone);
        auto count = static_cast<std::uint16_t>(rest.size());
        if (offload_) count = rte_eth_tx_prepare(device_.port_id(), queue, rest.data(), count);
        if (count == 0) {
            // The driver refuses this one.
            rte_pktmbuf_free(rest[0]);
            ++gone;
            continue;
        }
        const std::size_t sent = rte_eth_tx_burst(device_.port_id(), queue, rest.data(), count);
        gone += sent;
        if (sent < count) break;
    }
    return gone;
}

void Datapath::send_arp(const ArpPacket& packet) {
    rte_mbuf* frame = rte_pktmbuf_alloc(transmit_pool_.get());
    if (frame == nullptr) return;
    auto* const bytes = reinterpret_cast<std::byte*>(rte_pktmbuf_append(frame, arp_frame_bytes));
    write_arp_frame(packet, std::span<std::byte, arp_frame_bytes>(bytes, arp_frame_bytes));
    if (rte_eth_tx_burst(device_.port_id(), queue, &frame, 1) == 0) rte_pktmbuf_free(frame);
}

std::size_t Datapath::receive(std::span<RxPacket> burst) {
    const Turn turn(*this);
    if (!turn || device_.waits_for_peer()) return 0;
    register_eal_thread();
    send_pending();
    if (!link_seen_) look_for_link(steady_now());
    std::array<rte_mbuf*, burst_size> frames;
    std::size_t filled = 0;
    std::size_t looked_at = 0;
    while (looked_at < burst.size()) {
        const std::size_t wanted = std::min(burst_size, burst.size() - looked_at);
        const std::size_t count = rte_eth_rx_burst(device_.port_id(), queue, frames.data(),
                                                   static_cast<std::uint16_t>(wanted));
        if (count == 0) break;
        const Time now = steady_now();
        for (std::size_t i = 0; i < count; ++i) {
            if (i + 1 < count) rte_prefetch0(rte_pktmbuf_mtod(frames[i + 1], void*));
            if (accept(frames[i], now, burst[filled])) ++filled;
        }
        looked_at += count;
        if (count < wanted) break;
    }
    return filled;
}

bool Datapath::accept(rte_mbuf* frame, Time now, RxPacket& packet) {
    frame = contiguous(frame);
    if (frame == nullptr) {
        counters_.malformed(1);
        return false;
    }
    const std::span<std::byte> bytes = bytes_of(frame);
    if (ether_type(bytes) == ether_type_arp) {
        if (const auto arp = read_arp_frame(bytes)) {
            if (const auto answer = arp_.receive(*arp, now)) send_arp(*answer);
        }
        rte_pktmbuf_free(frame);
        return false;
    }
    const auto udp = read_udp_frame(bytes);
    const bool ours = udp && (frame->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) == 0 &&
                      udp->to == info_.local && checksum_is_good(frame, *udp, bytes);
    if (!ours) {
        counters_.malformed(1);
        rte_pktmbuf_free(frame);
        return false;
    }
    arp_.heard(udp->from.address, udp->source_mac, now);
    packet.from = udp->from;
    packet.datagram = bytes.subspan(udp->udp_offset + udp_header_bytes, udp->datagram_bytes);
    packet.buffer = frame;
    counters_.received(1, udp->datagram_bytes);
    return true;
}

bool Datapath::checksum_is_good(const rte_mbuf* frame, const UdpFrame& udp,
                                std::span<const std::byte> bytes) const {
    if (udp.checksum == 0) return true;
    const std::uint64_t verdict = frame->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
    if (verdict == RTE_MBUF_F_RX_L4_CKSUM_GOOD) return true;
    switch (check_udp(udp, bytes)) {
        case UdpChecksumState::unfinished:
            return device_.traits().kernel_interface;
        case UdpChecksumState::wrong:
            return false;
        case UdpChecksumState::absent:
        case UdpChecksumState::right:
            return true;
    }
    return false;
}

// The caller may write to what it receives, and expects it in one piece: a peer in this process may
// have sent its own memory, and big frames may come in several buffers.
rte_mbuf* Datapath::contiguous(rte_mbuf* frame) {
    const bool own = RTE_MBUF_DIRECT(frame) && rte_mbuf_refcnt_read(frame) == 1;
    if (frame->nb_segs == 1 && own) return frame;
    if (own && rte_pktmbuf_linearize(frame) == 0) return frame;
    rte_mbuf* copy = rte_pktmbuf_copy(frame, receive_pool_.get(), 0, UINT32_MAX);
    rte_pktmbuf_free(frame);
    if (copy != nullptr && copy->nb_segs != 1) {
        rte_pktmbuf_free(copy);
        copy = nullptr;
    }
    return copy;
}

void Datapath::release(std::span<const RxPacket> packets) {
    std::array<rte_mbuf*, burst_size> frames;
    while (!packets.empty()) {
        const std::size_t count = std::min(packets.size(), burst_size);
        for (std::size_t i = 0; i < count; ++i) {
            frames[i] = static_cast<rte_mbuf*>(packets[i].buffer);
        }
        rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(count));
        packets = packets.subspan(count);
    }
}

// DPDK's drivers have no readiness to wait for.
void Datapath::wait(std::chrono::microseconds timeout) {
    const auto nap = std::min(timeout, longest_nap);
    if (nap.count() <= 0) return;
    const timespec time{0, std::chrono::nanoseconds(nap).count()};
    nanosleep(&time, nullptr);
}

std::unique_ptr<MemoryRegion> Datapath::register_memory(std::span<std::byte> memory) {
    if (!zero_copy_ || !device_.gathers() || memory.empty()) return nullptr;
    std::unique_ptr<DmaMapping> mapping;
    if (device_.physical()) {
        try {
            mapping = std::make_unique<DmaMapping>(device_, memory);
        } catch (const SetupError&) {
            return nullptr;
        }
    }
    return std::make_unique<BorrowedMemory>(
        std::move(mapping), BorrowedMemory::Recovery{.reclaim = [this] { reclaim(); },
                                                     .restart = [this] { restart(); }});
}

// Some drivers look after what they have sent only when they send again.
void Datapath::reclaim() {
    const Turn turn(*this, attempts_between_bursts);
    if (!turn) return;
    if (device_.waits_for_peer()) {
        pending_.drop();
        return;
    }
    send_pending();
    device_.reclaim();
    const Time now = steady_now();
    if (now - announced_ < announcement_pause) return;
    announced_ = now;
    send_arp(announcement_);
}

void Datapath::restart() {
    const Turn turn(*this, attempts_for_restart);
    if (!turn) return;
    pending_.drop();
    device_.restart();
}

void Datapath::look_for_link(Time now) {
    if (!device_.link_is_up()) return;
    link_seen_ = true;
    if (device_.traits().needs_gate) InterruptGate::instance().settle();
    if (peer_) next_hop(*peer_, now);
}

}  // namespace sumwire::nic
