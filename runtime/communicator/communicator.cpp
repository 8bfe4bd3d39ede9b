#include "sumwire/communicator.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "gpu/device.h"
#include "nic/dpdk/eal.h"
#include "runtime/communicator/core.h"
#include "runtime/communicator/resolved_options.h"

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

gpu::Codec convert(Codec codec) {
    switch (codec) {
        case Codec::dense:
            return gpu::Codec::dense;
        case Codec::packed:
            return gpu::Codec::packed;
        case Codec::sketch:
            return gpu::Codec::sketch;
    }
    throw SetupError("unknown codec: use Codec::dense, packed or sketch");
}

gpu::Arithmetic convert(Arithmetic arithmetic) {
    switch (arithmetic) {
        case Arithmetic::exact:
            return gpu::Arithmetic::exact;
        case Arithmetic::f32:
            return gpu::Arithmetic::f32;
        case Arithmetic::fixed32:
            return gpu::Arithmetic::fixed32;
    }
    throw SetupError("unknown arithmetic: use Arithmetic::exact, f32 or fixed32");
}

gpu::Reduction convert(ReduceOp op) {
    switch (op) {
        case ReduceOp::sum:
            return gpu::Reduction::sum;
        case ReduceOp::average:
            return gpu::Reduction::average;
    }
    throw SetupError("unknown reduction: use ReduceOp::sum or average");
}

void check_arguments(const Options& options, const void* pointer, std::size_t count, DataType type,
                     Codec codec, Arithmetic arithmetic) {
    if (type != DataType::f32) {
        throw SetupError("all_reduce takes DataType::f32 only; convert the tensor to float32");
    }
    if (count != 0 && pointer == nullptr) {
        throw SetupError(fmt::format("all_reduce of {} elements got a null pointer", count));
    }
    if (reinterpret_cast<std::uintptr_t>(pointer) % alignof(float) != 0) {
        throw SetupError(
            fmt::format("all_reduce got the pointer {}, which is not aligned to 4 bytes", pointer));
    }
    if (codec == Codec::sketch && arithmetic == Arithmetic::f32) {
        throw SetupError(
            "the sketch codec needs integers: choose Arithmetic::exact or fixed32, or another "
            "codec "
            "with Arithmetic::f32");
    }
    if (arithmetic == Arithmetic::f32 && !options.float_sums) {
        throw SetupError(
            "this communicator was created without float sums: set Options::arithmetic to f32, or "
            "Options::float_sums, on every rank");
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

Communicator Communicator::create(const Options& options) {
    const auto environment = [](const char* name) -> const char* { return std::getenv(name); };
    Communicator communicator(std::make_unique<Impl>(runtime::resolve(options, environment)));
    const runtime::Log& log = *communicator.impl_->core->log();
    log(LogLevel::info, communicator.description());
    note_environment(log);
    return communicator;
}

unsigned Communicator::rank() const {
    return static_cast<unsigned>(impl_->core->options().rank);
}
unsigned Communicator::world_size() const {
    return static_cast<unsigned>(impl_->core->options().world_size);
}

Buffer Communicator::register_buffer(void* pointer, std::size_t bytes) {
    if (pointer == nullptr || bytes == 0) {
        throw SetupError("register_buffer needs a pointer and a size above 0");
    }
    return Buffer(std::make_unique<Buffer::Impl>(
        impl_->core, std::span(static_cast<std::byte*>(pointer), bytes)));
}

Buffer Communicator::allocate(std::size_t bytes) {
    if (bytes == 0) throw SetupError("allocate needs a size above 0");
    return Buffer(
        std::make_unique<Buffer::Impl>(impl_->core, gpu::host_device().allocate(bytes), bytes));
}

Work Communicator::all_reduce(void* pointer, std::size_t count, DataType type, ReduceOp op) {
    const Options& options = impl_->core->options();
    return all_reduce(pointer, count, type, op, options.codec, options.arithmetic);
}

Work Communicator::all_reduce(void* pointer, std::size_t count, DataType type, ReduceOp op,
                              Codec codec, Arithmetic arithmetic) {
    check_arguments(impl_->core->options(), pointer, count, type, codec, arithmetic);
    auto state = std::make_shared<Work::State>(impl_->core->log());
    if (count == 0) {
        state->finish(nullptr);
        return Work(std::move(state));
    }
    impl_->core->submit({.kind = runtime::Operation::Kind::all_reduce,
                         .values = static_cast<float*>(pointer),
                         .count = count,
                         .reduction = convert(op),
                         .codec = convert(codec),
                         .arithmetic = convert(arithmetic),
                         .completion = state});
    return Work(std::move(state));
}

void Communicator::barrier() {
    auto state = std::make_shared<Work::State>(impl_->core->log());
    impl_->core->submit({.kind = runtime::Operation::Kind::barrier, .completion = state});
    state->wait();
}

Statistics Communicator::statistics() const {
    return impl_->core->statistics();
}
std::string Communicator::description() const {
    return impl_->core->description();
}

}  // namespace sumwire
