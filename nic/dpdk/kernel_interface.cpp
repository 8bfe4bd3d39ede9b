#include "nic/dpdk/kernel_interface.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace sumwire::nic {
namespace {

class QuerySocket {
  public:
    QuerySocket() : descriptor_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
    ~QuerySocket() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    QuerySocket(const QuerySocket&) = delete;
    QuerySocket& operator=(const QuerySocket&) = delete;

    bool ask(unsigned long what, ifreq& request) const {
        return descriptor_ >= 0 && ioctl(descriptor_, what, &request) == 0;
    }

  private:
    int descriptor_;
};

}  // namespace

std::optional<KernelInterface> read_kernel_interface(const std::string& name) {
    ifreq request{};
    if (name.empty() || name.size() >= sizeof request.ifr_name) return std::nullopt;
    std::memcpy(request.ifr_name, name.data(), name.size());
    const QuerySocket query;
    if (!query.ask(SIOCGIFMTU, request)) return std::nullopt;
    KernelInterface result;
    result.mtu = static_cast<std::size_t>(request.ifr_mtu);
    if (query.ask(SIOCGIFADDR, request)) {
        sockaddr_in address;
        std::memcpy(&address, &request.ifr_addr, sizeof address);
        result.address = ntohl(address.sin_addr.s_addr);
    }
    return result;
}

}  // namespace sumwire::nic
