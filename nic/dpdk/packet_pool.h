// Owners of DPDK's packet buffers.
#pragma once

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace sumwire::nic {

// A pool of packet buffers (mbufs). Buffers may still be with a peer in this process when the pool
// goes (net_ring hands over the sender's own); its memory then stays until they are back: looked
// after whenever another pool is made or goes.
class PacketPool {
  public:
    // `room`: bytes behind the mbuf, headroom included; 0 for mbufs that only refer to other
    // memory. Throws SetupError.
    PacketPool(std::string_view purpose, unsigned count, std::size_t room, int socket);
    ~PacketPool();
    PacketPool(const PacketPool&) = delete;
    PacketPool& operator=(const PacketPool&) = delete;

    rte_mempool* get() const { return pool_; }

  private:
    rte_mempool* pool_;
};

}  // namespace sumwire::nic
