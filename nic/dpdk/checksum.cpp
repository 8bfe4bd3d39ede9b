#include "nic/dpdk/checksum.h"

#include <cstring>

#include "nic/byte_order.h"

namespace sumwire::nic {
namespace {

constexpr std::uint8_t protocol_udp = 17;

// Words as this host reads them, the last one padded with zero. Never overflows for datagrams.
std::uint64_t sum_words(std::span<const std::byte> piece) {
    const std::byte* at = piece.data();
    std::size_t left = piece.size();
    std::uint64_t sum = 0;
    for (; left >= 4; at += 4, left -= 4) {
        std::uint32_t word;
        std::memcpy(&word, at, sizeof word);
        sum += word;
    }
    if (left > 0) {
        std::uint32_t word = 0;
        std::memcpy(&word, at, left);
        sum += word;
    }
    return sum;
}

std::uint16_t fold(std::uint64_t sum) {
    while (sum >> 16 != 0) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return static_cast<std::uint16_t>(sum);
}

InternetSum pseudo_header(std::uint32_t source, std::uint32_t destination,
                          std::uint16_t udp_bytes) {
    InternetSum sum;
    for (const std::uint32_t address : {source, destination}) {
        sum.add_word(static_cast<std::uint16_t>(address >> 16));
        sum.add_word(static_cast<std::uint16_t>(address));
    }
    sum.add_word(protocol_udp);
    sum.add_word(udp_bytes);
    return sum;
}

}  // namespace

InternetSum& InternetSum::add(std::span<const std::byte> piece) {
    const std::uint16_t words = fold(sum_words(piece));
    // A piece that begins at an odd byte has its words' halves swapped.
    sum_ += odd_ ? __builtin_bswap16(words) : words;
    odd_ = odd_ != (piece.size() % 2 != 0);
    return *this;
}

InternetSum& InternetSum::add_word(std::uint16_t word) {
    sum_ += swap_if_little(word);
    return *this;
}

std::uint16_t InternetSum::folded() const {
    return swap_if_little(fold(sum_));
}

std::uint16_t pseudo_header_sum(std::uint32_t source, std::uint32_t destination,
                                std::uint16_t udp_bytes) {
    return pseudo_header(source, destination, udp_bytes).folded();
}

std::uint16_t udp_checksum(std::uint32_t source, std::uint32_t destination,
                           std::span<const std::byte> udp_header, std::span<const std::byte> head,
                           std::span<const std::byte> tail) {
    const auto udp_bytes =
        static_cast<std::uint16_t>(udp_header.size() + head.size() + tail.size());
    InternetSum sum = pseudo_header(source, destination, udp_bytes);
    const auto checksum =
        static_cast<std::uint16_t>(~sum.add(udp_header).add(head).add(tail).folded());
    return checksum == 0 ? 0xffff : checksum;
}

}  // namespace sumwire::nic
