#include "nic/dpdk/arp.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "nic/byte_order.h"
#include "nic/port.h"

namespace sumwire::nic {
namespace {

using namespace std::chrono_literals;

constexpr Time quick_retry = 100ms;
constexpr Time slow_retry = 1s;
constexpr std::uint8_t quick_questions = 10;
constexpr Time stale_after = 60s;

constexpr std::uint16_t hardware_ethernet = 1;
constexpr std::uint16_t operation_request = 1;
constexpr std::uint16_t operation_reply = 2;
constexpr std::size_t arp_bytes = 28;

MacAddress load_mac(const std::byte* from) {
    MacAddress mac;
    std::memcpy(mac.data(), from, mac.size());
    return mac;
}

void store_mac(std::byte* to, const MacAddress& mac) {
    std::memcpy(to, mac.data(), mac.size());
}

}  // namespace

void write_arp_frame(const ArpPacket& packet, std::span<std::byte, arp_frame_bytes> out) {
    std::fill(out.begin(), out.end(), std::byte{0});
    std::byte* const ethernet = out.data();
    store_mac(ethernet, packet.request ? broadcast_mac : packet.target_mac);
    store_mac(ethernet + 6, packet.sender_mac);
    store_big(ethernet + 12, ether_type_arp);
    std::byte* const arp = ethernet + ethernet_header_bytes;
    store_big(arp, hardware_ethernet);
    store_big(arp + 2, ether_type_ipv4);
    arp[4] = std::byte{6};
    arp[5] = std::byte{4};
    store_big(arp + 6, packet.request ? operation_request : operation_reply);
    store_mac(arp + 8, packet.sender_mac);
    store_big(arp + 14, packet.sender);
    store_mac(arp + 18, packet.target_mac);
    store_big(arp + 24, packet.target);
}

std::optional<ArpPacket> read_arp_frame(std::span<const std::byte> frame) {
    if (frame.size() < ethernet_header_bytes + arp_bytes || ether_type(frame) != ether_type_arp) {
        return std::nullopt;
    }
    const std::byte* const arp = frame.data() + ethernet_header_bytes;
    const auto operation = load_big<std::uint16_t>(arp + 6);
    if (load_big<std::uint16_t>(arp) != hardware_ethernet ||
        load_big<std::uint16_t>(arp + 2) != ether_type_ipv4 || arp[4] != std::byte{6} ||
        arp[5] != std::byte{4} ||
        (operation != operation_request && operation != operation_reply)) {
        return std::nullopt;
    }
    return ArpPacket{.request = operation == operation_request,
                     .sender_mac = load_mac(arp + 8),
                     .sender = load_big<std::uint32_t>(arp + 14),
                     .target_mac = load_mac(arp + 18),
                     .target = load_big<std::uint32_t>(arp + 24)};
}

ArpTable::ArpTable(const ArpHost& host)
    : address_(host.address),
      mac_(host.mac),
      mask_(host.prefix_length == 0 ? 0 : ~std::uint32_t{0} << (32 - host.prefix_length)),
      gateway_(host.gateway),
      table_(sets) {
    if (gateway_ && !is_neighbor(*gateway_)) {
        throw SetupError(
            fmt::format("the gateway {} is no neighbour of {}/{}: give a gateway on the same "
                        "subnet, or another prefix",
                        to_string(Endpoint{*gateway_, 0, 0}), to_string(Endpoint{address_, 0, 0}),
                        host.prefix_length));
    }
    // A device that loops back serves packets to ourselves.
    if (Entry* own = insert(address_, Kind::fixed, Time{})) {
        own->mac = mac_;
        own->known = true;
    }
    for (const Neighbor& neighbor : host.neighbors) {
        Entry* entry = find(neighbor.address);
        if (entry == nullptr) entry = insert(neighbor.address, Kind::fixed, Time{});
        if (entry == nullptr) {
            throw SetupError("too many fixed neighbours: leave some of them to ARP");
        }
        entry->mac = neighbor.mac;
        entry->known = true;
    }
}

ArpTable::Resolution ArpTable::resolve(std::uint32_t address, Time now) {
    Entry* entry = find(address);
    if (entry == nullptr || entry->kind == Kind::stranger) {
        std::uint32_t hop = address;
        if (!on_subnet(address)) {
            if (!gateway_) return {};
            hop = *gateway_;
            entry = find(hop);
        }
        if (!is_neighbor(hop)) return {};
        if (entry == nullptr) entry = insert(hop, Kind::wanted, now);
        if (entry == nullptr) return {};
        if (entry->kind == Kind::stranger) entry->kind = Kind::wanted;
    }
    entry->used = now;
    Resolution result;
    if (entry->known) result.mac = &entry->mac;
    if (due(*entry, now)) {
        entry->asked = now;
        if (entry->questions < quick_questions) ++entry->questions;
        result.ask = ArpPacket{.request = true,
                               .sender_mac = mac_,
                               .sender = address_,
                               .target_mac = {},
                               .target = entry->address};
    }
    return result;
}

std::optional<ArpPacket> ArpTable::receive(const ArpPacket& packet, Time now) {
    const bool for_us = packet.request && packet.target == address_;
    learn(packet.sender, packet.sender_mac, for_us, now);
    // A sender of 0.0.0.0 probes whether the address is taken (RFC 5227): it is.
    if (!for_us || packet.sender == address_ || !is_unicast(packet.sender_mac)) {
        return std::nullopt;
    }
    return ArpPacket{.request = false,
                     .sender_mac = mac_,
                     .sender = address_,
                     .target_mac = packet.sender_mac,
                     .target = packet.sender};
}

void ArpTable::heard(std::uint32_t address, const MacAddress& mac, Time now) {
    learn(address, mac, true, now);
}

void ArpTable::learn(std::uint32_t address, const MacAddress& mac, bool from_stranger, Time now) {
    Entry* entry = find(address);
    if (entry == nullptr) {
        if (!from_stranger || !is_neighbor(address) || !is_unicast(mac)) return;
        entry = insert(address, Kind::stranger, now);
        if (entry == nullptr) return;
    }
    if (entry->kind == Kind::fixed || !is_unicast(mac)) return;
    entry->mac = mac;
    entry->known = true;
    entry->confirmed = now;
    entry->questions = 0;
}

bool ArpTable::due(const Entry& entry, Time now) const {
    if (entry.kind == Kind::fixed || (entry.known && now - entry.confirmed < stale_after)) {
        return false;
    }
    if (entry.questions == 0) return true;
    const bool quick = !entry.known && entry.questions < quick_questions;
    return now - entry.asked >= (quick ? quick_retry : slow_retry);
}

bool ArpTable::on_subnet(std::uint32_t address) const {
    return ((address ^ address_) & mask_) == 0;
}

bool ArpTable::is_neighbor(std::uint32_t address) const {
    const std::uint32_t first_octet = address >> 24;
    // Networks of /31 and /32 have no broadcast address (RFC 3021).
    const bool broadcast = ~mask_ > 1 && ((address & ~mask_) == ~mask_ || (address & ~mask_) == 0);
    return on_subnet(address) && !broadcast && first_octet != 0 && first_octet < 224;
}

ArpTable::Set& ArpTable::set_of(std::uint32_t address) {
    // Neighbours are mostly numbered one after another.
    return table_[(address ^ (address >> 8) ^ (address >> 16)) % sets];
}

ArpTable::Entry* ArpTable::find(std::uint32_t address) {
    for (Entry& entry : set_of(address)) {
        if (entry.address == address && entry.kind != Kind::empty) return &entry;
    }
    return nullptr;
}

ArpTable::Entry* ArpTable::insert(std::uint32_t address, Kind kind, Time now) {
    Set& set = set_of(address);
    Entry* victim = nullptr;
    const auto strangers = std::count_if(
        set.begin(), set.end(), [](const Entry& entry) { return entry.kind == Kind::stranger; });
    const bool strangers_full = kind == Kind::stranger && 2 * strangers >= std::ssize(set);
    const auto rank = [](const Entry& entry) {
        return std::pair{entry.kind, entry.kind == Kind::stranger ? entry.confirmed : entry.used};
    };
    for (Entry& entry : set) {
        const bool may_go = entry.kind == Kind::stranger ||
                            (entry.kind == Kind::empty && !strangers_full) ||
                            (entry.kind == Kind::wanted && kind != Kind::stranger);
        if (may_go && (victim == nullptr || rank(entry) < rank(*victim))) victim = &entry;
    }
    if (victim == nullptr) return nullptr;
    *victim = Entry{};
    victim->address = address;
    victim->kind = kind;
    victim->used = now;
    return victim;
}

}  // namespace sumwire::nic
