#include "apps/support/shared_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "apps/support/launch_error.h"

namespace sumwire::apps {
namespace {

[[noreturn]] void fail() {
    throw LaunchError(fmt::format("no shared memory: {}; free memory, or raise 'ulimit -n'",
                                  std::strerror(errno)));
}

}  // namespace

Descriptor share(std::span<const std::byte> bytes) {
    Descriptor memory(memfd_create("sumwire", MFD_CLOEXEC));
    if (!memory) fail();
    while (!bytes.empty()) {
        const ssize_t count = write(memory.get(), bytes.data(), bytes.size());
        if (count < 0 && errno != EINTR) fail();
        if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return memory;
}

SharedView::SharedView(int descriptor) {
    const off_t end = lseek(descriptor, 0, SEEK_END);
    if (end < 0) fail();
    if (end == 0) return;
    void* const mapped =
        mmap(nullptr, static_cast<std::size_t>(end), PROT_READ, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED) fail();
    data_ = static_cast<const std::byte*>(mapped);
    size_ = static_cast<std::size_t>(end);
}

SharedView::~SharedView() {
    if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

SharedView::SharedView(SharedView&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

std::string SharedView::text() const {
    return {reinterpret_cast<const char*>(data_), size_};
}

}  // namespace sumwire::apps
