#include "nic/dpdk/eal_output.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>
#include <utility>

namespace sumwire::nic {
namespace {

constexpr std::size_t lines_kept = 32;
constexpr std::size_t lines_told = 4;

// This thread is in the program's log, which may print.
thread_local bool in_log = false;

ssize_t keep(void*, const char* text, std::size_t bytes) {
    EalMessages::instance().add({text, bytes});
    return static_cast<ssize_t>(bytes);
}

// A stream that tells one thread's output from the others'. Never closed: another thread may be
// inside it for as long as it likes.
struct Diversion {
    std::FILE* original = nullptr;
    std::atomic<std::thread::id> captured;
    std::FILE* stream = nullptr;
};

ssize_t divert(void* cookie, const char* text, std::size_t bytes) {
    const auto& diversion = *static_cast<Diversion*>(cookie);
    const bool captured = std::this_thread::get_id() == diversion.captured && !in_log;
    if (captured) return keep(nullptr, text, bytes);
    return static_cast<ssize_t>(std::fwrite(text, 1, bytes, diversion.original));
}

// Never destroyed, like all that DPDK's threads may touch after main().
std::mutex& capture_mutex() {
    static auto* const mutex = new std::mutex;
    return *mutex;
}

std::FILE* open_cookie(void* cookie, cookie_write_function_t* write) {
    cookie_io_functions_t functions{};
    functions.write = write;
    std::FILE* const stream = fopencookie(cookie, "w", functions);
    if (stream != nullptr) std::setvbuf(stream, nullptr, _IONBF, 0);
    return stream;
}

std::FILE* diverted(Diversion& diversion, std::FILE* original) {
    diversion.original = original;
    diversion.captured = std::this_thread::get_id();
    if (diversion.stream == nullptr) diversion.stream = open_cookie(&diversion, divert);
    return diversion.stream == nullptr ? original : diversion.stream;
}

}  // namespace

struct EalMessages::State {
    mutable std::mutex mutex;
    EalLog log;
    std::deque<std::string> lines;
    std::uint64_t count = 0;
    std::string partial;
    std::FILE* stream = nullptr;
};

// Never destroyed: DPDK's threads outlive main().
EalMessages& EalMessages::instance() {
    static EalMessages* const messages = new EalMessages;
    return *messages;
}

EalMessages::EalMessages() : state_(new State) {}

void EalMessages::set_log(EalLog log) {
    const std::scoped_lock lock(state_->mutex);
    state_->log = std::move(log);
}

void EalMessages::add(std::string_view text) {
    const std::scoped_lock lock(state_->mutex);
    State& state = *state_;
    for (const char c : text) {
        if (c != '\n') {
            state.partial += c;
            continue;
        }
        if (state.partial.empty()) continue;
        if (state.log) {
            in_log = true;
            state.log(state.partial);
            in_log = false;
        }
        state.lines.push_back(std::exchange(state.partial, {}));
        ++state.count;
        if (state.lines.size() > lines_kept) state.lines.pop_front();
    }
}

std::FILE* EalMessages::stream() {
    const std::scoped_lock lock(state_->mutex);
    if (state_->stream == nullptr) state_->stream = open_cookie(nullptr, keep);
    return state_->stream;
}

std::uint64_t EalMessages::mark() const {
    const std::scoped_lock lock(state_->mutex);
    return state_->count;
}

std::string EalMessages::since(std::uint64_t mark) const {
    const std::scoped_lock lock(state_->mutex);
    const std::size_t told = std::min(
        {static_cast<std::size_t>(state_->count - mark), state_->lines.size(), lines_told});
    std::string text;
    for (std::size_t i = state_->lines.size() - told; i < state_->lines.size(); ++i) {
        if (!text.empty()) text += " | ";
        text += state_->lines[i];
    }
    return text;
}

PrintCapture::PrintCapture() : alone_(capture_mutex()), stdout_(stdout), stderr_(stderr) {
    static auto* const out = new Diversion;
    static auto* const err = new Diversion;
    stdout = diverted(*out, stdout_);
    stderr = diverted(*err, stderr_);
}

PrintCapture::~PrintCapture() {
    stdout = stdout_;
    stderr = stderr_;
}

}  // namespace sumwire::nic
