#include "apps/run/rank_process.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "apps/support/launch_error.h"
#include "apps/support/npy.h"

namespace sumwire::apps {
namespace {

Descriptor shared_memory(const char* name) {
    Descriptor memory(memfd_create(name, MFD_CLOEXEC));
    if (!memory) {
        throw LaunchError(fmt::format("no shared memory: {}; free memory or raise 'ulimit -n'",
                                      std::strerror(errno)));
    }
    return memory;
}

void write_all(int to, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = write(to, bytes.data(), bytes.size());
        if (count < 0 && errno != EINTR) {
            throw std::runtime_error(
                fmt::format("cannot hand over the result: {}; free memory", std::strerror(errno)));
        }
        if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
}

// From the beginning; how much there was.
std::size_t read_all(int from, std::span<std::byte> bytes) {
    std::size_t filled = 0;
    while (filled < bytes.size()) {
        const ssize_t count =
            pread(from, bytes.data() + filled, bytes.size() - filled, static_cast<off_t>(filled));
        if (count == 0 || (count < 0 && errno != EINTR)) break;
        if (count > 0) filled += static_cast<std::size_t>(count);
    }
    return filled;
}

}  // namespace

RankProcess::RankProcess(const RankTask& task, const std::filesystem::path& gradient,
                         std::size_t elements)
    : elements_(elements),
      result_(shared_memory("sumwire-result")),
      report_(shared_memory("sumwire-report")) {
    const nlohmann::json job = {{"task", task},
                                {"gradient", std::filesystem::absolute(gradient).string()},
                                {"result", result_.get()},
                                {"report", report_.get()}};
    job_ = job.dump();
}

WorkerProgram RankProcess::program() const {
    return {
        .arguments = {std::filesystem::read_symlink("/proc/self/exe").string(), rank_command, job_},
        .inherited = {result_.get(), report_.get()}};
}

RankReport RankProcess::report() const {
    std::string text(static_cast<std::size_t>(lseek(report_.get(), 0, SEEK_END)), '\0');
    read_all(report_.get(), std::as_writable_bytes(std::span(text)));
    return nlohmann::json::parse(text).get<RankReport>();
}

std::vector<float> RankProcess::result() const {
    std::vector<float> values(elements_);
    const auto bytes = std::as_writable_bytes(std::span(values));
    if (read_all(result_.get(), bytes) != bytes.size())
        throw std::runtime_error("a rank has ended without its whole result; run it again");
    return values;
}

void run_rank_process(const std::string& job_text) {
    const auto job = nlohmann::json::parse(job_text);
    const auto gradient = read_npy(job.at("gradient").get<std::string>());
    std::vector<float> result(gradient.size());
    const RankReport report = run_rank(job.at("task").get<RankTask>(), {}, gradient, result);
    write_all(job.at("result").get<int>(), std::as_bytes(std::span(result)));
    const std::string text = nlohmann::json(report).dump();
    write_all(job.at("report").get<int>(), std::as_bytes(std::span(text)));
}

}  // namespace sumwire::apps
