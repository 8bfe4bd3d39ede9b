#include "sumwire/communicator.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "gpu/device.h"
#include "nic/dpdk/eal.h"
#include "runtime/communicator/choices.h"
#include "runtime/communicator/core.h"
#include "runtime/communicator/resolved_options.h"
#include "runtime/progress_thread.h"

namespace sumwire {

struct Work::State : runtime::Completion {
    using Completion::Completion;
};

void Work::wait() const {
    if (state_) state_->wait();
}
bool Work::wait_for(std::chrono::nanoseconds timeout) const {
    return !state_ || state_->wait_for(timeout);
}
bool Work::done() const {
    return !state_ || state_->done();
}
void Work::then(std::function<void(std::exception_ptr)> f) const {
    if (state_) {
        state_->then(std::move(f));
    } else {
        runtime::call_back(f, nullptr, runtime::Log());
    }
}

struct Buffer::Impl {
    std::shared_ptr<runtime::Core> core;
    gpu::DeviceBuffer owned;  // empty for the caller's memory
    std::span<std::byte> memory;
    bool pinned = false;
    std::unique_ptr<nic::MemoryRegion> region;

    // The caller's memory. Locking it is the caller's business: locks do not nest, so unlocking
    // here would undo the caller's own.
    Impl(std::shared_ptr<runtime::Core> the_core, std::span<std::byte> bytes)
        : core(std::move(the_core)), memory(bytes) {
        region = core->port().register_memory(memory);
    }
    // Our own memory, which is unmapped in the end, and thereby unlocked.
    Impl(std::shared_ptr<runtime::Core> the_core, gpu::DeviceBuffer buffer, std::size_t bytes)
        : core(std::move(the_core)), owned(std::move(buffer)), memory(owned.bytes().first(bytes)) {
        pinned = mlock(memory.data(), memory.size()) == 0;
        region = core->port().register_memory(memory);
    }
    ~Impl() { region.reset(); }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
};

Buffer::Buffer() = default;
Buffer::Buffer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Buffer::Buffer(Buffer&&) noexcept = default;
Buffer& Buffer::operator=(Buffer&&) noexcept = default;
Buffer::~Buffer() = default;
void* Buffer::data() const {
    return impl_ ? impl_->memory.data() : nullptr;
}
std::size_t Buffer::bytes() const {
    return impl_ ? impl_->memory.size() : 0;
}
bool Buffer::pinned() const {
    return impl_ && impl_->pinned;
}

struct Communicator::Impl {
    std::shared_ptr<runtime::Core> core;

    explicit Impl(const runtime::ResolvedOptions& resolved)
        : core(runtime::Core::start(resolved)) {}
    ~Impl() { core->stop(); }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
};

namespace {

void check_memory(const void* pointer, std::size_t count, gpu::DataType type) {
    const std::size_t size = gpu::size_of(type);
    if (count > std::numeric_limits<std::ptrdiff_t>::max() / size) {
        throw SetupError(fmt::format(
            "all_reduce of {} elements of {} bytes is more than any memory holds; check the count",
            count, size));
    }
    if (count != 0 && pointer == nullptr) {
        throw SetupError(fmt::format("all_reduce of {} elements got a null pointer", count));
    }
    if (reinterpret_cast<std::uintptr_t>(pointer) % size != 0) {
        throw SetupError(fmt::format(
            "all_reduce got the pointer {}, which is not aligned to {} bytes", pointer, size));
    }
}

void check_sum(const runtime::CollectiveCall& call, bool float_sums) {
    if (gpu::is_extremum(call.reduction)) return;
    const bool floats = call.arithmetic == gpu::Arithmetic::f32;
    const bool in_rank_order =
        call.type == gpu::DataType::f64 || (floats && !gpu::is_integer(call.type));
    if (call.has_codec() && call.codec == gpu::Codec::sketch) {
        if (call.type == gpu::DataType::i32) {
            throw SetupError("the sketch codec sums floats; choose another codec for i32");
        }
        if (floats) {
            throw SetupError(
                "the sketch codec needs integers: choose Arithmetic::exact or fixed32, or another "
                "codec with Arithmetic::f32");
        }
    }
    if (in_rank_order && !float_sums) {
        throw SetupError(
            fmt::format("this communicator was created without float sums, which {} needs: set "
                        "Options::float_sums on every rank",
                        call.type == gpu::DataType::f64 ? "a sum of f64" : "Arithmetic::f32"));
    }
}

// What slows the whole process down is worth one warning, not one for each communicator.
void note_environment(const runtime::Log& log) {
    static std::atomic<bool> noted = false;
    const std::string note = nic::eal_note();
    if (!note.empty() && !noted.exchange(true)) log(LogLevel::warning, note);
}

}  // namespace

Communicator::Communicator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

Communicator::Impl& Communicator::impl() const {
    if (!impl_) throw Error("this Communicator was moved from; use the one it was moved to");
    return *impl_;
}

Communicator Communicator::create(const Options& options) {
    const auto environment = [](const char* name) -> const char* { return std::getenv(name); };
    Communicator communicator(std::make_unique<Impl>(runtime::resolve(options, environment)));
    const runtime::Log& log = *communicator.impl().core->log();
    log(LogLevel::info, communicator.description());
    note_environment(log);
    return communicator;
}

unsigned Communicator::rank() const {
    return static_cast<unsigned>(impl().core->options().rank);
}
unsigned Communicator::world_size() const {
    return static_cast<unsigned>(impl().core->options().world_size);
}

Buffer Communicator::register_buffer(void* pointer, std::size_t bytes) {
    if (pointer == nullptr || bytes == 0) {
        throw SetupError("register_buffer needs a pointer and a size above 0");
    }
    return Buffer(std::make_unique<Buffer::Impl>(
        impl().core, std::span(static_cast<std::byte*>(pointer), bytes)));
}

Buffer Communicator::allocate(std::size_t bytes) {
    if (bytes == 0) throw SetupError("allocate needs a size above 0");
    try {
        return Buffer(
            std::make_unique<Buffer::Impl>(impl().core, gpu::host_device().allocate(bytes), bytes));
    } catch (const std::bad_alloc&) {
        throw SetupError(
            fmt::format("allocate: the system has no {} bytes left; ask for less, or free memory "
                        "(hugepages that are reserved but unused count too)",
                        bytes));
    }
}

Work Communicator::all_reduce(void* pointer, std::size_t count, DataType type, ReduceOp op,
                              const CallOptions& call) {
    const Options& options = impl().core->options();
    runtime::Operation operation;
    operation.call = {.kind = runtime::CollectiveCall::Kind::all_reduce,
                      .count = count,
                      .type = runtime::to_gpu(type),
                      .reduction = runtime::to_gpu(op),
                      .codec = runtime::to_gpu(call.codec.value_or(options.codec)),
                      .arithmetic = runtime::to_gpu(call.arithmetic.value_or(options.arithmetic)),
                      .tag = call.tag};
    operation.values = pointer;
    check_memory(pointer, count, operation.call.type);
    check_sum(operation.call, options.float_sums);
    auto state = std::make_shared<Work::State>(impl().core->log());
    operation.completion = state;
    impl().core->submit(std::move(operation));
    return Work(std::move(state));
}

void Communicator::barrier() {
    auto state = std::make_shared<Work::State>(impl().core->log());
    if (runtime::on_progress_thread()) state->wait();  // throws
    runtime::Operation operation;
    operation.call.kind = runtime::CollectiveCall::Kind::barrier;
    operation.completion = state;
    impl().core->submit(std::move(operation));
    state->wait();
}

Statistics Communicator::statistics() const {
    return impl().core->statistics();
}
std::string Communicator::description() const {
    return impl().core->description();
}

}  // namespace sumwire
