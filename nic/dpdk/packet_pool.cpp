#include "nic/dpdk/packet_pool.h"

#include <fmt/format.h>
#include <rte_errno.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "nic/port.h"

namespace sumwire::nic {
namespace {

// Per thread; buffers in a cache cannot be used by others.
constexpr unsigned cache_size = 256;

// Pools whose buffers were not all back when their owner went.
class Leftovers {
  public:
    void add(rte_mempool* pool) {
        const std::scoped_lock lock(mutex_);
        pools_.push_back(pool);
        sweep();
    }
    void look_after() {
        const std::scoped_lock lock(mutex_);
        sweep();
    }

  private:
    void sweep() {
        std::erase_if(pools_, [](rte_mempool* pool) {
            if (!rte_mempool_full(pool)) return false;
            rte_mempool_free(pool);
            return true;
        });
    }

    std::mutex mutex_;
    std::vector<rte_mempool*> pools_;
};

Leftovers& leftovers() {
    static auto* const instance = new Leftovers;
    return *instance;
}

}  // namespace

PacketPool::PacketPool(std::string_view purpose, unsigned count, std::size_t room, int socket) {
    static std::atomic<unsigned> number{0};
    leftovers().look_after();
    const std::string name = fmt::format("sumwire-{}-{}", purpose, number.fetch_add(1));
    pool_ = rte_pktmbuf_pool_create(name.c_str(), count, cache_size, 0,
                                    static_cast<std::uint16_t>(room), socket);
    if (pool_ == nullptr) {
        throw SetupError(fmt::format(
            "DPDK has no room for {} packet buffers of {} bytes ({}): free hugepages (echo 512 > "
            "/proc/sys/vm/nr_hugepages), or give DPDK more memory or none of them "
            "('eal=--no-huge -m 2048'), or use a smaller MTU",
            count, room, rte_strerror(rte_errno)));
    }
}

PacketPool::~PacketPool() {
    leftovers().add(pool_);
}

}  // namespace sumwire::nic
