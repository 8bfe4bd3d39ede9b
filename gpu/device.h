// A device owns gradient and payload memory and runs the codec kernels on it.
//
// The host device is the reference: every other device must return the same bits.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace sumwire::gpu {

class Device;

// Owns device memory: 4 KiB aligned or better, zeroed, in huge pages where the system has some.
// Move-only; frees on destruction.
class DeviceBuffer {
  public:
    DeviceBuffer() = default;
    DeviceBuffer(DeviceBuffer&& other) noexcept;
    DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
    ~DeviceBuffer();

    std::span<std::byte> bytes() const { return bytes_; }
    bool in_huge_pages() const { return huge_pages_; }

  private:
    friend class Device;
    DeviceBuffer(Device* device, std::span<std::byte> bytes, bool huge_pages)
        : device_(device), bytes_(bytes), huge_pages_(huge_pages) {}

    Device* device_ = nullptr;
    std::span<std::byte> bytes_;
    bool huge_pages_ = false;
};

class Device {
  public:
    virtual ~Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    virtual std::string name() const = 0;

    // Thread-safe. Throws std::bad_alloc. The buffer must not outlive the device.
    DeviceBuffer allocate(std::size_t bytes);

  protected:
    Device() = default;

    struct Allocation {
        std::byte* data = nullptr;
        std::size_t bytes = 0;  // at least what was asked for; what deallocate gets back
        bool huge_pages = false;
    };
    virtual Allocation do_allocate(std::size_t bytes) = 0;
    virtual void do_deallocate(std::span<std::byte> bytes) noexcept = 0;

  private:
    friend class DeviceBuffer;
};

// The CPU and its memory. One for the whole process.
Device& host_device();

}  // namespace sumwire::gpu
