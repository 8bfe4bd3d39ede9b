#include "nic/inproc/inproc_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "nic/wire.h"

namespace sumwire::nic {
namespace {

constexpr std::uint32_t first_address = 0x7f010001;  // 127.1.0.1
constexpr std::uint32_t last_address = 0x7f01fffe;
constexpr std::uint16_t first_ephemeral = 49152;
constexpr std::uint32_t buffers_per_inbox = 2048;

// So that payloads start at a cache line, as behind a NIC.
constexpr std::size_t headroom = network_header_bytes;

}  // namespace

Inbox::Inbox(const Endpoint& owner, std::size_t max_datagram, std::uint32_t buffers)
    : owner_(owner),
      max_datagram_(max_datagram),
      stride_((headroom + max_datagram + 63) / 64 * 64),
      memory_(std::make_unique_for_overwrite<std::byte[]>(stride_ * buffers + 63)),
      slots_(buffers),
      free_(buffers),
      arrived_(buffers) {}

std::byte* Inbox::memory_of(std::uint32_t index) {
    const auto start = reinterpret_cast<std::uintptr_t>(memory_.get());
    const std::size_t to_line = (64 - start % 64) % 64;
    return memory_.get() + to_line + index * stride_ + headroom;
}

bool Inbox::deliver(const Endpoint& from, std::span<const std::byte> header,
                    std::span<const std::byte> payload) {
    const auto index = free_.take();
    if (!index) return false;
    std::byte* memory = memory_of(*index);
    std::copy(header.begin(), header.end(), memory);
    std::copy(payload.begin(), payload.end(), memory + header.size());
    slots_[*index] = {from, header.size() + payload.size()};
    arrived_.push(*index);
    return true;
}

bool Inbox::take(RxPacket& packet) {
    const auto index = arrived_.pop();
    if (!index) return false;
    Slot& slot = slots_[*index];
    packet = {slot.from, {memory_of(*index), slot.size}, &slot};
    return true;
}

void Inbox::release(const RxPacket& packet) {
    free_.give(static_cast<std::uint32_t>(static_cast<Slot*>(packet.buffer) - slots_.data()));
}

void Inbox::wait(std::chrono::microseconds timeout) {
    doorbell_.wait(timeout, [this] { return !arrived_.empty(); });
}

std::shared_ptr<InprocNetwork> InprocNetwork::get(const std::string& name) {
    static std::mutex mutex;
    static std::map<std::string, std::weak_ptr<InprocNetwork>> networks;
    const std::lock_guard lock(mutex);
    std::erase_if(networks, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<InprocNetwork>& known = networks[name];
    auto network = known.lock();
    if (!network) {
        network = std::make_shared<InprocNetwork>();
        known = network;
    }
    return network;
}

std::shared_ptr<Inbox> InprocNetwork::join(std::optional<std::uint32_t> address,
                                           std::uint16_t udp_port, std::size_t max_datagram) {
    const std::lock_guard lock(mutex_);
    const Endpoint endpoint = choose(address, udp_port);
    auto inbox = std::make_shared<Inbox>(endpoint, max_datagram, buffers_per_inbox);
    inboxes_.insert(std::ranges::upper_bound(inboxes_, endpoint, {}, &Inbox::owner), inbox);
    generation_.fetch_add(1, std::memory_order_acq_rel);
    return inbox;
}

void InprocNetwork::leave(const Inbox& inbox) {
    const std::lock_guard lock(mutex_);
    std::erase_if(inboxes_, [&](const auto& member) { return member.get() == &inbox; });
    generation_.fetch_add(1, std::memory_order_acq_rel);
}

std::uint64_t InprocNetwork::list(std::vector<std::shared_ptr<Inbox>>& inboxes) const {
    const std::lock_guard lock(mutex_);
    inboxes.assign(inboxes_.begin(), inboxes_.end());
    return generation_.load(std::memory_order_relaxed);
}

bool InprocNetwork::taken(const Endpoint& endpoint) const {
    return std::ranges::any_of(inboxes_,
                               [&](const auto& inbox) { return inbox->owner() == endpoint; });
}

bool InprocNetwork::address_taken(std::uint32_t address) const {
    return std::ranges::any_of(
        inboxes_, [&](const auto& inbox) { return inbox->owner().address == address; });
}

Endpoint InprocNetwork::choose(std::optional<std::uint32_t> address, std::uint16_t udp_port) const {
    Endpoint endpoint{address.value_or(first_address), udp_port, 0};
    if (!address) {
        while (address_taken(endpoint.address)) {
            if (++endpoint.address > last_address) {
                throw SetupError(
                    "all addresses of this in-process network are in use; "
                    "close ports or use a further network");
            }
        }
    }
    if (udp_port == 0) {
        endpoint.port = first_ephemeral;
        while (taken(endpoint)) {
            if (++endpoint.port == 0) {
                throw SetupError(
                    "all UDP ports of this in-process address are in use; "
                    "close ports or use a further address (;ip=)");
            }
        }
    } else if (taken(endpoint)) {
        throw SetupError(
            fmt::format("{} is in use on this in-process network; close the port that has it or "
                        "choose another address (;ip=) or UDP port",
                        to_string(endpoint)));
    }
    return endpoint;
}

}  // namespace sumwire::nic
