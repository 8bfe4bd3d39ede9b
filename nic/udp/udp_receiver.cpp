#include "nic/udp/udp_receiver.h"

#include <netinet/udp.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "nic/udp/udp_socket.h"
#include "nic/wire.h"

namespace sumwire::nic {
namespace {

constexpr std::size_t slab_bytes = 1 << 16;
// Payloads start at a cache line, and slabs at different sets of the cache.
constexpr std::size_t stride = 64 + slab_bytes + 320;
constexpr std::size_t headroom = network_header_bytes;
constexpr std::chrono::microseconds nap_while_all_slabs_are_held{100};

// Size of the datagrams in a coalesced message; 0 if it is a single one.
std::size_t segment_of(const msghdr& message) {
    auto* header = const_cast<msghdr*>(&message);
    for (cmsghdr* c = CMSG_FIRSTHDR(header); c != nullptr; c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
            int segment = 0;
            std::memcpy(&segment, CMSG_DATA(c), sizeof segment);
            return segment > 0 ? static_cast<std::size_t>(segment) : 0;
        }
    }
    return 0;
}

}  // namespace

UdpReceiver::UdpReceiver(int fd, LivePortCounters& counters)
    : fd_(fd),
      counters_(counters),
      memory_(std::make_unique_for_overwrite<std::byte[]>(slabs * stride + 63)),
      slabs_(slabs) {
    const auto start = reinterpret_cast<std::uintptr_t>(memory_.get());
    const std::size_t to_line = (64 - start % 64) % 64;
    free_.reserve(slabs);
    for (std::size_t i = slabs; i-- > 0;) {
        slabs_[i].memory = memory_.get() + to_line + i * stride + headroom;
        free_.push_back(&slabs_[i]);
    }
}

std::size_t UdpReceiver::receive(std::span<RxPacket> burst) {
    std::size_t count = hand_out(burst);
    bool more = true;
    while (count < burst.size() && more) {
        more = refill();
        count += hand_out(burst.subspan(count));
    }
    return count;
}

void UdpReceiver::release(std::span<const RxPacket> packets) {
    for (const RxPacket& packet : packets)
        drop_user(*static_cast<Slab*>(packet.buffer));
}

void UdpReceiver::wait(std::chrono::microseconds timeout) {
    if (next_ready_ < ready_count_ || timeout.count() <= 0) return;
    if (free_.empty()) {
        // The socket would be readable all the time.
        std::this_thread::sleep_for(std::min(timeout, nap_while_all_slabs_are_held));
        return;
    }
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
    const std::chrono::nanoseconds rest = timeout - seconds;
    const timespec relative{seconds.count(), rest.count()};
    pollfd readable{fd_, POLLIN, 0};
    if (ppoll(&readable, 1, &relative, nullptr) > 0 && (readable.revents & POLLERR) != 0) {
        int error = 0;
        socklen_t size = sizeof error;
        // Reading the error clears it; a drop is none of our business.
        getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    }
}

bool UdpReceiver::refill() {
    const std::size_t wanted = std::min(max_messages, free_.size());
    if (wanted == 0) return false;
    for (std::size_t i = 0; i < wanted; ++i) {
        pieces_[i] = {free_[free_.size() - 1 - i]->memory, slab_bytes};
        msghdr& message = messages_[i].msg_hdr;
        message = {};
        message.msg_name = &addresses_[i];
        message.msg_namelen = sizeof(sockaddr_in);
        message.msg_iov = &pieces_[i];
        message.msg_iovlen = 1;
        message.msg_control = &controls_[i];
        message.msg_controllen = sizeof(Control);
    }
    const int received =
        recvmmsg(fd_, messages_.data(), static_cast<unsigned>(wanted), MSG_DONTWAIT, nullptr);
    ready_count_ = 0;
    next_ready_ = 0;
    if (received <= 0) return false;

    const auto count = static_cast<std::size_t>(received);
    std::array<Slab*, max_messages> damaged;
    std::size_t damaged_count = 0;
    for (std::size_t i = 0; i < count; ++i) {
        Slab* slab = free_.back();
        free_.pop_back();
        if (accept(*slab, messages_[i])) {
            ready_[ready_count_++] = slab;
        } else {
            damaged[damaged_count++] = slab;
        }
    }
    free_.insert(free_.end(), damaged.begin(), damaged.begin() + damaged_count);
    counters_.malformed(damaged_count);
    return count == wanted;
}

bool UdpReceiver::accept(Slab& slab, const mmsghdr& message) {
    if ((message.msg_hdr.msg_flags & MSG_TRUNC) != 0) return false;
    if (message.msg_hdr.msg_namelen < sizeof(sockaddr_in)) return false;
    slab.from = to_endpoint(*static_cast<const sockaddr_in*>(message.msg_hdr.msg_name));
    slab.size = message.msg_len;
    slab.segment = segment_of(message.msg_hdr);
    if (slab.segment == 0) slab.segment = slab.size;
    slab.handed_out = 0;
    slab.users = 1;
    return true;
}

std::size_t UdpReceiver::hand_out(std::span<RxPacket> burst) {
    std::size_t count = 0;
    std::size_t bytes = 0;
    while (count < burst.size() && next_ready_ < ready_count_) {
        Slab& slab = *ready_[next_ready_];
        const std::size_t size = std::min(slab.segment, slab.size - slab.handed_out);
        burst[count++] = {slab.from, {slab.memory + slab.handed_out, size}, &slab};
        ++slab.users;
        bytes += size;
        slab.handed_out += size;
        if (slab.handed_out == slab.size) {
            ++next_ready_;
            drop_user(slab);
        }
    }
    counters_.received(count, bytes);
    return count;
}

void UdpReceiver::drop_user(Slab& slab) {
    if (--slab.users == 0) free_.push_back(&slab);
}

}  // namespace sumwire::nic
