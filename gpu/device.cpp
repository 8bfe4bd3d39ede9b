#include "gpu/device.h"

#include <utility>

namespace sumwire::gpu {

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      bytes_(std::exchange(other.bytes_, {})),
      huge_pages_(std::exchange(other.huge_pages_, false)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
    DeviceBuffer taken(std::move(other));
    std::swap(device_, taken.device_);
    std::swap(bytes_, taken.bytes_);
    std::swap(huge_pages_, taken.huge_pages_);
    return *this;
}

DeviceBuffer::~DeviceBuffer() {
    if (device_ != nullptr) device_->do_deallocate(bytes_);
}

DeviceBuffer Device::allocate(std::size_t bytes) {
    const Allocation allocation = do_allocate(bytes);
    return DeviceBuffer(this, {allocation.data, allocation.bytes}, allocation.huge_pages);
}

}  // namespace sumwire::gpu
