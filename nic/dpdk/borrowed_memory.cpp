// rte_dev_dma_map has no stable ABI yet.
#define ALLOW_EXPERIMENTAL_API

#include "nic/dpdk/borrowed_memory.h"

#include <fmt/format.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_memory.h>
#include <unistd.h>

#include <cstdio>
#include <thread>
#include <utility>

#include "nic/time.h"

namespace sumwire::nic {
namespace {

// For packets to come back before the device is restarted.
constexpr Time patience = std::chrono::milliseconds(1500);

// DPDK calls it when the last reference goes, which is the region's own: never.
void nobody_left(void*, void*) {}

}  // namespace

DmaMapping::DmaMapping(const Device& device, std::span<std::byte> memory)
    : device_(device.info().device) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(memory.data()) & ~(page - 1);
    const auto end =
        (reinterpret_cast<std::uintptr_t>(memory.data()) + memory.size() + page - 1) & ~(page - 1);
    begin_ = reinterpret_cast<void*>(first);
    bytes_ = end - first;
    if (rte_eal_iova_mode() != RTE_IOVA_VA) {
        throw SetupError(
            "the device uses physical addresses, so it cannot read caller-owned memory: bind it "
            "to vfio-pci with an IOMMU, or add ';zero_copy=off'");
    }
    if (rte_extmem_register(begin_, bytes_, nullptr, 0, page) != 0) {
        throw SetupError(
            fmt::format("DPDK cannot register {} bytes of memory ({}): register each "
                        "page once, or add ';zero_copy=off'",
                        memory.size(), rte_strerror(rte_errno)));
    }
    if (rte_dev_dma_map(device_, begin_, first, bytes_) != 0) {
        const int error = rte_errno;
        rte_extmem_unregister(begin_, bytes_);
        throw SetupError(
            fmt::format("the device cannot map {} bytes of memory ({}): raise the "
                        "limit of locked memory (ulimit -l), or add "
                        "';zero_copy=off'",
                        memory.size(), rte_strerror(error)));
    }
}

DmaMapping::~DmaMapping() {
    rte_dev_dma_unmap(device_, begin_, reinterpret_cast<std::uintptr_t>(begin_), bytes_);
    rte_extmem_unregister(begin_, bytes_);
}

BorrowedMemory::BorrowedMemory(std::unique_ptr<DmaMapping> mapping, Recovery recovery)
    : lent_(std::make_unique<Lent>()), recovery_(std::move(recovery)) {
    lent_->mapping = std::move(mapping);
    lent_->shared.free_cb = nobody_left;
    lent_->shared.fcb_opaque = nullptr;
    rte_mbuf_ext_refcnt_set(&lent_->shared, 1);
}

BorrowedMemory::~BorrowedMemory() {
    const Time deadline = steady_now() + patience;
    while (in_flight() != 0 && steady_now() < deadline) {
        recovery_.reclaim();
        std::this_thread::yield();
    }
    if (in_flight() != 0) recovery_.restart();
    if (in_flight() == 0) return;
    std::fprintf(stderr,
                 "sumwire: %u packets still refer to a memory region that is given up; its "
                 "registration stays until this process ends\n",
                 in_flight());
    static_cast<void>(lent_.release());
}

std::uint32_t BorrowedMemory::in_flight() const {
    return static_cast<std::uint32_t>(rte_mbuf_ext_refcnt_read(&lent_->shared)) - 1U;
}

bool BorrowedMemory::lend(rte_mbuf* mbuf, std::span<const std::byte> payload) {
    if (in_flight() >= max_loans) return false;
    rte_mbuf_ext_refcnt_update(&lent_->shared, 1);
    // The network only reads it.
    auto* const memory = const_cast<std::byte*>(payload.data());
    const auto bytes = static_cast<std::uint16_t>(payload.size());
    rte_pktmbuf_attach_extbuf(mbuf, memory, reinterpret_cast<std::uintptr_t>(memory), bytes,
                              &lent_->shared);
    mbuf->data_len = bytes;
    mbuf->pkt_len = bytes;
    return true;
}

}  // namespace sumwire::nic
