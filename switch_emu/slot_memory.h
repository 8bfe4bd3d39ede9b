// The memory in which a job's slots hold their payloads.
#pragma once

#include <cstddef>

namespace sumwire::aggregator {

// Zeroed, at the start of a page; large ones ask for transparent huge pages. Pages become resident
// when they are first written: other jobs do not wait while a large one gets its memory.
class SlotMemory {
  public:
    // Throws std::bad_alloc.
    explicit SlotMemory(std::size_t bytes);
    ~SlotMemory();
    SlotMemory(const SlotMemory&) = delete;
    SlotMemory& operator=(const SlotMemory&) = delete;

    std::byte* data() const { return memory_; }

  private:
    std::size_t bytes_;
    std::byte* memory_ = nullptr;
};

}  // namespace sumwire::aggregator
