#include "nic/udp/udp_socket.h"

#include <fmt/format.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "nic/port.h"

namespace sumwire::nic {
namespace {

constexpr int wanted_receive_buffer = 32 << 20;
constexpr int wanted_send_buffer = 4 << 20;

std::string reason(int error) {
    return std::generic_category().message(error);
}

class Descriptor {
  public:
    Descriptor() : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
        if (fd_ < 0) {
            throw SetupError(fmt::format(
                "cannot open a UDP socket: {}; raise the limit of open files (ulimit -n) or allow "
                "IPv4 sockets to this process",
                reason(errno)));
        }
    }
    ~Descriptor() {
        if (fd_ >= 0) close(fd_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }

  private:
    int fd_;
};

template <class T>
bool set(int fd, int level, int option, T value) {
    return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

int get(int fd, int level, int option) {
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(fd, level, option, &value, &size) == 0 ? value : -1;
}

void set_buffer(int fd, int privileged, int ordinary, int bytes) {
    if (!set(fd, SOL_SOCKET, privileged, bytes)) set(fd, SOL_SOCKET, ordinary, bytes);
}

[[noreturn]] void reject_bind(const Endpoint& endpoint, int error) {
    const std::string where = to_string(endpoint);
    switch (error) {
        case EADDRINUSE:
            throw SetupError(fmt::format(
                "UDP {} is in use; stop the program that holds it (ss -lunp shows it) or choose "
                "another port",
                where));
        case EADDRNOTAVAIL:
            throw SetupError(fmt::format(
                "cannot bind to UDP {}: no interface has this address; take one that ip -4 addr "
                "lists, or 0.0.0.0 for all",
                where));
        case EACCES:
            throw SetupError(fmt::format(
                "cannot bind to UDP {}: ports below 1024 need privileges; choose a higher one",
                where));
        default:
            throw SetupError(fmt::format(
                "cannot bind to UDP {}: {}; choose another address or port", where, reason(error)));
    }
}

sockaddr_in local_of(int fd) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    return address;
}

}  // namespace

UdpSocket::UdpSocket(const Endpoint& bind_to) : fd_(-1) {
    Descriptor descriptor;
    const int fd = descriptor.get();
    set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, wanted_receive_buffer);
    set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, wanted_send_buffer);
    set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
    const sockaddr_in address = to_sockaddr(bind_to);
    if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        reject_bind(bind_to, errno);
    }
    fd_ = descriptor.release();
}

UdpSocket::~UdpSocket() {
    close(fd_);
}

Endpoint UdpSocket::local() const {
    return to_endpoint(local_of(fd_));
}

std::size_t UdpSocket::receive_buffer() const {
    // The kernel doubles what is asked for, to cover its own overhead.
    const int bytes = get(fd_, SOL_SOCKET, SO_RCVBUF);
    return bytes > 0 ? static_cast<std::size_t>(bytes) / 2 : 0;
}

bool UdpSocket::can_segment() const {
    return get(fd_, IPPROTO_UDP, UDP_SEGMENT) >= 0;
}

bool UdpSocket::coalesce() {
    return set(fd_, IPPROTO_UDP, UDP_GRO, 1);
}

void UdpSocket::omit_checksums() {
    set(fd_, SOL_SOCKET, SO_NO_CHECK, 1);
}

Path find_path(const Endpoint& peer) {
    const Descriptor probe;
    const sockaddr_in address = to_sockaddr(peer);
    if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        throw SetupError(
            fmt::format("no route to {}: {}; check the address, or the routes (ip route get shows "
                        "what is missing)",
                        to_string(peer), reason(errno)));
    }
    const int mtu = get(probe.get(), IPPROTO_IP, IP_MTU);
    if (mtu <= 0) {
        throw SetupError(
            fmt::format("the kernel does not tell the MTU towards {}: {}; give it as "
                        "\";mtu=1500\"",
                        to_string(peer), reason(errno)));
    }
    return {to_endpoint(local_of(probe.get())).address, static_cast<std::size_t>(mtu)};
}

sockaddr_in to_sockaddr(const Endpoint& endpoint) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(endpoint.port);
    address.sin_addr.s_addr = htonl(endpoint.address);
    return address;
}

Endpoint to_endpoint(const sockaddr_in& address) {
    return {ntohl(address.sin_addr.s_addr), ntohs(address.sin_port), 0};
}

}  // namespace sumwire::nic
