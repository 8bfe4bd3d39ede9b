#include "apps/support/veth_network.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "apps/support/child_process.h"
#include "apps/support/launch_error.h"

namespace sumwire::apps {
namespace {

Descriptor current_namespace() {
    return Descriptor(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
}

// This thread is in the namespace as long as the object lives.
class Inside {
  public:
    explicit Inside(const Descriptor& network) : home_(current_namespace()) {
        if (setns(network.get(), CLONE_NEWNET) != 0) {
            throw LaunchError(fmt::format("cannot enter a network namespace: {}; run as root",
                                          std::strerror(errno)));
        }
    }
    ~Inside() { setns(home_.get(), CLONE_NEWNET); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

  private:
    Descriptor home_;
};

Descriptor make_namespace() {
    const Descriptor home = current_namespace();
    if (unshare(CLONE_NEWNET) != 0) {
        throw LaunchError(
            fmt::format("cannot make a network namespace: {}; run as root, or use --transport udp, "
                        "which needs no "
                        "privileges",
                        std::strerror(errno)));
    }
    Descriptor made = current_namespace();
    setns(home.get(), CLONE_NEWNET);
    // The kernel's own IPv6 chatter is no part of a run.
    const Inside inside(made);
    for (const char* scope : {"all", "default"})
        std::ofstream(fmt::format("/proc/sys/net/ipv6/conf/{}/disable_ipv6", scope)) << 1;
    return made;
}

std::string read_all(int descriptor) {
    std::string text;
    std::array<char, 512> part{};
    for (;;) {
        const ssize_t count = read(descriptor, part.data(), part.size());
        if (count <= 0) return text;
        text.append(part.data(), static_cast<std::size_t>(count));
    }
}

// Runs iproute2's ip in a namespace.
void ip(const Descriptor& network, const std::string& arguments) {
    ChildSpec spec;
    spec.arguments.emplace_back("ip");
    std::istringstream words(arguments);
    for (std::string word; words >> word;)
        spec.arguments.push_back(word);
    spec.network = network.get();
    std::unique_ptr<ChildProcess> child;
    try {
        child = std::make_unique<ChildProcess>(spec);
    } catch (const LaunchError&) {
        throw LaunchError(
            "the program 'ip' is not there: apt-get install iproute2, or use --transport "
            "udp");
    }
    pollfd ended{child->ended(), POLLIN, 0};
    while (poll(&ended, 1, -1) < 0 && errno == EINTR) {
    }
    const auto exit = child->poll();
    if (!exit || !exit->ok()) {
        throw LaunchError(
            fmt::format("'ip {}' fails: {}run as root on a kernel with veth and bridges, "
                        "or use --transport udp",
                        arguments, read_all(child->standard_error())));
    }
}

}  // namespace

VethNetwork::VethNetwork(unsigned hosts, unsigned mtu) : hub_(make_namespace()) {
    ip(hub_, fmt::format("link add {} type bridge", hub_interface));
    for (unsigned i = 0; i < hosts; ++i) {
        hosts_.push_back(make_namespace());
        const Descriptor& host = hosts_.back();
        ip(hub_,
           fmt::format("link add p{} mtu {} type veth peer name {} mtu {} netns /proc/{}/fd/{}", i,
                       mtu, host_interface, mtu, getpid(), host.get()));
        ip(hub_, fmt::format("link set p{} master {} up", i, hub_interface));
        ip(host, fmt::format("link set {} up", host_interface));
    }
    ip(hub_, fmt::format("link set {} mtu {} up", hub_interface, mtu));
}

}  // namespace sumwire::apps
