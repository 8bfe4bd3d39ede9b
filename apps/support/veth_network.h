// Hosts on one machine: network namespaces, each with a veth to a bridge in a further namespace.
//
// The namespaces have no names: they and their links are gone with the last process inside and this
// object, however this process ends.
#pragma once

#include <vector>

#include "apps/support/descriptor.h"

namespace sumwire::apps {

class VethNetwork {
  public:
    static constexpr const char* host_interface = "eth0";
    static constexpr const char* hub_interface = "br0";

    // Needs the right to make namespaces, and iproute2. Throws LaunchError.
    VethNetwork(unsigned hosts, unsigned mtu);

    // Namespaces to run processes in.
    int host(unsigned index) const { return hosts_[index].get(); }
    int hub() const { return hub_.get(); }

  private:
    Descriptor hub_;
    std::vector<Descriptor> hosts_;
};

}  // namespace sumwire::apps
