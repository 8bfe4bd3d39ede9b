#include "gpu/host/host_device.h"

#include <sys/mman.h>

#include <limits>
#include <new>

namespace sumwire::gpu {

namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
// Below this, rounding up to a huge page would waste more than it saves.
constexpr std::size_t huge_page_threshold = huge_page_bytes / 2;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
    return bytes == 0 ? unit : (bytes + unit - 1) / unit * unit;
}

std::byte* map(std::size_t bytes, int extra_flags) {
    void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | extra_flags, -1, 0);
    return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

}  // namespace

std::string HostDevice::name() const {
    return "host";
}

Device::Allocation HostDevice::do_allocate(std::size_t bytes) {
    if (bytes > std::numeric_limits<std::size_t>::max() - huge_page_bytes) throw std::bad_alloc();
    if (bytes >= huge_page_threshold) {
        const std::size_t rounded = round_up(bytes, huge_page_bytes);
        // Without MAP_NORESERVE this fails here, not at first touch, where none are free.
        std::byte* const data = map(rounded, MAP_HUGETLB | (21 << MAP_HUGE_SHIFT));
        if (data != nullptr) return {data, rounded, true};
    }
    const std::size_t rounded = round_up(bytes, page_bytes);
    std::byte* const data = map(rounded, 0);
    if (data == nullptr) throw std::bad_alloc();
    if (rounded >= huge_page_bytes) ::madvise(data, rounded, MADV_HUGEPAGE);
    return {data, rounded, false};
}

void HostDevice::do_deallocate(std::span<std::byte> bytes) noexcept {
    ::munmap(bytes.data(), bytes.size());
}

Device& host_device() {
    static HostDevice device;
    return device;
}

}  // namespace sumwire::gpu
