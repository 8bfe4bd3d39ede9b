// Caller-owned memory that frames are sent from without a copy.
#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "nic/dpdk/device.h"
#include "nic/port.h"

namespace sumwire::nic {

// A real device's permission to read memory.
class DmaMapping {
  public:
    // Throws SetupError.
    DmaMapping(const Device& device, std::span<std::byte> memory);
    ~DmaMapping();
    DmaMapping(const DmaMapping&) = delete;
    DmaMapping& operator=(const DmaMapping&) = delete;

  private:
    rte_device* device_;
    void* begin_;
    std::size_t bytes_;
};

class BorrowedMemory final : public MemoryRegion {
  public:
    // How the destructor gets back what is lent. Called from its thread.
    struct Recovery {
        // Makes the port's driver hand back what it has sent; called until everything is back.
        std::function<void()> reclaim;
        // Makes it drop what it cannot send, once that has taken too long.
        std::function<void()> restart;
    };

    // `mapping` may be null.
    BorrowedMemory(std::unique_ptr<DmaMapping> mapping, Recovery recovery);
    // If even a restart brings not everything back (a peer in this process holds it), what DPDK
    // knows of the region stays for good, with a note: a leak instead of a wait without end.
    ~BorrowedMemory() override;
    BorrowedMemory(const BorrowedMemory&) = delete;
    BorrowedMemory& operator=(const BorrowedMemory&) = delete;

    std::uint32_t in_flight() const override;

    // Makes an empty mbuf refer to the payload. False if too many packets borrow already.
    bool lend(rte_mbuf* mbuf, std::span<const std::byte> payload);

  private:
    // DPDK counts references in 16 bits.
    static constexpr std::uint16_t max_loans = 60000;

    // What frames under way refer to.
    struct Lent {
        rte_mbuf_ext_shared_info shared;
        std::unique_ptr<DmaMapping> mapping;
    };

    std::unique_ptr<Lent> lent_;
    Recovery recovery_;
};

}  // namespace sumwire::nic
