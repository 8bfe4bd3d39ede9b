// The CPU and its memory as a device.
//
// Allocations of a megabyte and more lie in huge pages of 2 MiB where the system has free ones,
// otherwise in ordinary pages that the system may merge to huge ones.
#pragma once

#include "gpu/device.h"

namespace sumwire::gpu {

class HostDevice final : public Device {
  public:
    std::string name() const override;

  private:
    Allocation do_allocate(std::size_t bytes) override;
    void do_deallocate(std::span<std::byte> bytes) noexcept override;
};

}  // namespace sumwire::gpu
