#include "switch_emu/slot_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace sumwire::aggregator {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t huge_page = 2U << 20U;

}  // namespace

SlotMemory::SlotMemory(std::size_t bytes) {
    const std::size_t alignment = bytes >= huge_page ? huge_page : cache_line;
    const std::size_t rounded =
        std::max(alignment, (bytes + alignment - 1) / alignment * alignment);
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, rounded)));
    if (memory_ == nullptr) throw std::bad_alloc();
    if (alignment == huge_page) ::madvise(memory_.get(), rounded, MADV_HUGEPAGE);
    std::memset(memory_.get(), 0, rounded);
}

void SlotMemory::Free::operator()(std::byte* memory) const noexcept {
    std::free(memory);
}

}  // namespace sumwire::aggregator
