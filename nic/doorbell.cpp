#include "nic/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace sumwire::nic {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void Doorbell::sleep(std::chrono::microseconds timeout) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
    const std::chrono::nanoseconds rest = timeout - seconds;
    const timespec relative{seconds.count(), rest.count()};
    syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, asleep, &relative, nullptr, 0);
}

void Doorbell::wake() {
    syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace sumwire::nic
