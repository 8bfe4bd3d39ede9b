#include "switch_emu/slot_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace sumwire::aggregator {
namespace {

constexpr std::size_t huge_page = 2U << 20U;

}  // namespace

SlotMemory::SlotMemory(std::size_t bytes) : bytes_(std::max<std::size_t>(bytes, 1)) {
    void* const memory =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(memory);
    if (bytes_ >= huge_page) ::madvise(memory, bytes_, MADV_HUGEPAGE);
}

SlotMemory::~SlotMemory() {
    ::munmap(memory_, bytes_);
}

}  // namespace sumwire::aggregator
