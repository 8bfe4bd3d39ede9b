// The memory in which a job's slots hold their payloads.
#pragma once

#include <cstddef>
#include <memory>

namespace sumwire::aggregator {

// Zeroed and resident, 64-byte aligned; large ones ask for transparent huge pages.
class SlotMemory {
  public:
    // Throws std::bad_alloc.
    explicit SlotMemory(std::size_t bytes);

    std::byte* data() const { return memory_.get(); }

  private:
    struct Free {
        void operator()(std::byte* memory) const noexcept;
    };
    std::unique_ptr<std::byte[], Free> memory_;
};

}  // namespace sumwire::aggregator
