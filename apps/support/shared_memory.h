// Memory that a process hands to the processes it starts, as a descriptor to inherit.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "apps/support/descriptor.h"

namespace sumwire::apps {

// Holds a copy of the bytes. Throws LaunchError.
Descriptor share(std::span<const std::byte> bytes);

// The other end's view of such memory, read-only.
class SharedView {
  public:
    // Throws LaunchError.
    explicit SharedView(int descriptor);
    ~SharedView();
    SharedView(SharedView&& other) noexcept;
    SharedView& operator=(SharedView&&) = delete;

    std::span<const std::byte> bytes() const { return {data_, size_}; }
    template <typename T>
    std::span<const T> as() const {
        return {reinterpret_cast<const T*>(data_), size_ / sizeof(T)};
    }
    std::string text() const;

  private:
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace sumwire::apps
