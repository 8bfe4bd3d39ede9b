#include "runtime/log.h"

#include <cstdio>
#include <utility>

namespace sumwire::runtime {

Log::Log(Sink sink) : sink_(std::move(sink)) {}

void Log::operator()(LogLevel level, std::string_view text) const noexcept {
    if (!sink_) {
        if (level != LogLevel::warning) return;
        std::fprintf(stderr, "sumwire: %.*s\n", static_cast<int>(text.size()), text.data());
        return;
    }
    try {
        sink_(level, text);
    } catch (...) {  // NOLINT(bugprone-empty-catch)
    }
}

std::string message_of(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "something that is no std::exception";
    }
}

}  // namespace sumwire::runtime
