#include "nic/udp/udp_transmitter.h"

#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "nic/udp/udp_socket.h"

namespace sumwire::nic {
namespace {

// Limits of UDP_SEGMENT that hold in every kernel that has it.
constexpr std::size_t max_segments = 64;
constexpr std::size_t max_segmented_bytes = 65000;

std::size_t size_of(const TxPacket& packet) {
    return packet.header.size() + packet.payload.size();
}

bool would_block(int error) {
    return error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS;
}

// What the kernel answers if it cannot segment here; single datagrams may pass.
bool refuses_segments(int error) {
    return error == EINVAL || error == EIO || error == EOPNOTSUPP || error == EMSGSIZE;
}

iovec piece(std::span<const std::byte> bytes) {
    return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

}  // namespace

UdpTransmitter::UdpTransmitter(int fd, std::size_t max_datagram, bool segment,
                               LivePortCounters& counters)
    : fd_(fd), max_datagram_(max_datagram), segment_(segment), counters_(counters) {}

std::size_t UdpTransmitter::transmit(std::span<const TxPacket> burst) {
    std::size_t taken = 0;
    std::size_t alone_until = 0;
    std::size_t refused_size = 0;
    while (taken < burst.size()) {
        if (size_of(burst[taken]) > max_datagram_) {
            ++taken;
            continue;
        }
        const std::size_t alone = alone_until > taken ? alone_until - taken : 0;
        const std::size_t count = prepare(burst.subspan(taken), alone);
        const int sent =
            sendmmsg(fd_, messages_.data(), static_cast<unsigned>(count), MSG_DONTWAIT);
        if (sent > 0) {
            // Refused as a segment, yet it passes alone: it is the segmentation.
            if (alone > 0 && size_of(burst[taken]) == refused_size) segment_ = false;
            for (const Group& group : std::span(groups_).first(static_cast<std::size_t>(sent))) {
                taken += group.packets;
                counters_.transmitted(group.packets, group.bytes);
            }
        } else if (would_block(errno)) {
            break;
        } else if (groups_[0].packets > 1 && refuses_segments(errno)) {
            alone_until = taken + groups_[0].packets;
            refused_size = size_of(burst[taken]);
        } else if (errno != EINTR) {
            taken += groups_[0].packets;
        }
    }
    counters_.would_block(burst.size() - taken);
    return taken;
}

std::size_t UdpTransmitter::prepare(std::span<const TxPacket> burst, std::size_t alone) {
    burst = burst.first(std::min(burst.size(), max_packets));
    std::size_t count = 0;
    std::size_t pieces = 0;
    for (std::size_t i = 0; i < burst.size() && size_of(burst[i]) <= max_datagram_; ++count) {
        const std::size_t length = i < alone ? 1 : group_length(burst.subspan(i));
        const auto packets = burst.subspan(i, length);
        Group& group = groups_[count];
        group = {length, 0};
        msghdr& message = messages_[count].msg_hdr;
        addresses_[count] = to_sockaddr(packets[0].to);
        message = {};
        message.msg_name = &addresses_[count];
        message.msg_namelen = sizeof(sockaddr_in);
        message.msg_iov = &pieces_[pieces];
        for (const TxPacket& packet : packets) {
            if (!packet.header.empty()) pieces_[pieces++] = piece(packet.header);
            if (!packet.payload.empty()) pieces_[pieces++] = piece(packet.payload);
            group.bytes += size_of(packet);
        }
        message.msg_iovlen = static_cast<std::size_t>(&pieces_[0] + pieces - message.msg_iov);
        if (length > 1) {
            message.msg_control = &controls_[count];
            message.msg_controllen = sizeof(Control);
            cmsghdr* control = CMSG_FIRSTHDR(&message);
            control->cmsg_level = IPPROTO_UDP;
            control->cmsg_type = UDP_SEGMENT;
            control->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
            const auto segment = static_cast<std::uint16_t>(size_of(packets[0]));
            std::memcpy(CMSG_DATA(control), &segment, sizeof segment);
        }
        i += length;
    }
    return count;
}

// The last segment may be shorter than the others.
std::size_t UdpTransmitter::group_length(std::span<const TxPacket> burst) const {
    const std::size_t size = size_of(burst[0]);
    if (!segment_ || size == 0) return 1;
    const std::size_t most = std::min({burst.size(), max_segments, max_segmented_bytes / size});
    std::size_t length = 1;
    while (length < most && burst[length].to == burst[0].to) {
        const std::size_t next = size_of(burst[length]);
        if (next == 0 || next > size) break;
        ++length;
        if (next < size) break;
    }
    return length;
}

}  // namespace sumwire::nic
