#include "nic/dpdk/frame.h"

#include <algorithm>
#include <cstring>

#include "nic/byte_order.h"
#include "nic/dpdk/checksum.h"

namespace sumwire::nic {
namespace {

constexpr std::byte version_and_length{0x45};
constexpr std::uint16_t dont_fragment = 0x4000;
constexpr std::uint16_t fragment_mask = 0x3fff;  // more fragments, and the offset
constexpr std::byte time_to_live{64};
constexpr std::byte protocol_udp{17};

}  // namespace

std::uint16_t ether_type(std::span<const std::byte> frame) {
    return frame.size() < ethernet_header_bytes ? 0 : load_big<std::uint16_t>(frame.data() + 12);
}

void write_udp_headers(const UdpPath& path, std::size_t datagram_bytes,
                       std::span<std::byte, network_header_bytes> out) {
    const auto udp_bytes = static_cast<std::uint16_t>(udp_header_bytes + datagram_bytes);
    std::byte* const ethernet = out.data();
    std::memcpy(ethernet, path.destination_mac.data(), path.destination_mac.size());
    std::memcpy(ethernet + 6, path.source_mac.data(), path.source_mac.size());
    store_big(ethernet + 12, ether_type_ipv4);

    std::byte* const ip = ethernet + ethernet_header_bytes;
    ip[0] = version_and_length;
    ip[1] = std::byte{0};
    store_big(ip + 2, static_cast<std::uint16_t>(ipv4_header_bytes + udp_bytes));
    store_big(ip + 4, std::uint16_t{0});  // identification: never fragmented (RFC 6864)
    store_big(ip + 6, dont_fragment);
    ip[8] = time_to_live;
    ip[9] = protocol_udp;
    store_big(ip + 10, std::uint16_t{0});
    store_big(ip + 12, path.from.address);
    store_big(ip + 16, path.to.address);
    store_big(ip + 10,
              static_cast<std::uint16_t>(~InternetSum{}.add({ip, ipv4_header_bytes}).folded()));

    std::byte* const udp = ip + ipv4_header_bytes;
    store_big(udp, path.from.port);
    store_big(udp + 2, path.to.port);
    store_big(udp + 4, udp_bytes);
    store_big(udp + 6, std::uint16_t{0});
}

std::optional<UdpFrame> read_udp_frame(std::span<const std::byte> frame) {
    if (frame.size() < network_header_bytes || ether_type(frame) != ether_type_ipv4) {
        return std::nullopt;
    }
    const std::byte* const ip = frame.data() + ethernet_header_bytes;
    const std::size_t ip_room = frame.size() - ethernet_header_bytes;
    const std::size_t ip_header = 4 * (std::to_integer<std::size_t>(ip[0]) & 0xf);
    const std::size_t ip_bytes = load_big<std::uint16_t>(ip + 2);
    if (std::to_integer<unsigned>(ip[0]) >> 4 != 4 || ip_header < ipv4_header_bytes ||
        ip_bytes < ip_header + udp_header_bytes || ip_bytes > ip_room ||
        (load_big<std::uint16_t>(ip + 6) & fragment_mask) != 0 || ip[9] != protocol_udp ||
        InternetSum{}.add({ip, ip_header}).folded() != 0xffff) {
        return std::nullopt;
    }
    const std::byte* const udp = ip + ip_header;
    const std::size_t udp_bytes = load_big<std::uint16_t>(udp + 4);
    if (udp_bytes < udp_header_bytes || udp_bytes > ip_bytes - ip_header) {
        return std::nullopt;
    }
    UdpFrame result;
    std::memcpy(result.source_mac.data(), frame.data() + 6, result.source_mac.size());
    result.from = {load_big<std::uint32_t>(ip + 12), load_big<std::uint16_t>(udp), 0};
    result.to = {load_big<std::uint32_t>(ip + 16), load_big<std::uint16_t>(udp + 2), 0};
    result.udp_offset = ethernet_header_bytes + ip_header;
    result.datagram_bytes = udp_bytes - udp_header_bytes;
    result.checksum = load_big<std::uint16_t>(udp + 6);
    return result;
}

UdpChecksumState check_udp(const UdpFrame& udp, std::span<const std::byte> frame) {
    if (udp.checksum == 0) return UdpChecksumState::absent;
    const auto udp_bytes = static_cast<std::uint16_t>(udp_header_bytes + udp.datagram_bytes);
    const std::uint16_t pseudo = pseudo_header_sum(udp.from.address, udp.to.address, udp_bytes);
    InternetSum sum;
    sum.add_word(pseudo).add(frame.subspan(udp.udp_offset, udp_bytes));
    if (sum.folded() == 0xffff) return UdpChecksumState::right;
    return udp.checksum == pseudo ? UdpChecksumState::unfinished : UdpChecksumState::wrong;
}

}  // namespace sumwire::nic
