// Words whose number is known only when a chunk is under way: in memory set aside for the usual
// number, otherwise in memory of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/device.h"

namespace sumwire::gpu {

class WordBuffer {
  public:
    // Every span taken has this many words of memory more behind it.
    explicit WordBuffer(Device& device, std::size_t slack = 0) : device_(device), slack_(slack) {}

    void set_home(std::span<std::uint32_t> home) { home_ = home; }

    // The content is undefined, and that of earlier spans is lost.
    std::span<std::uint32_t> take(std::size_t words) {
        if (words + slack_ <= home_.size()) return home_.first(words);
        const std::size_t bytes = (words + slack_) * sizeof(std::uint32_t);
        if (bytes > outgrown_.bytes().size()) {
            outgrown_ = {};
            outgrown_ = device_.allocate(bytes);
        }
        return {reinterpret_cast<std::uint32_t*>(outgrown_.bytes().data()), words};
    }

  private:
    Device& device_;
    std::size_t slack_;
    std::span<std::uint32_t> home_;
    DeviceBuffer outgrown_;
};

}  // namespace sumwire::gpu
