// Keeps what DPDK says away from the host program's standard streams.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace sumwire::nic {

using EalLog = std::function<void(std::string_view message)>;

// Where DPDK's messages go: into a short memory, for the texts of errors, and to the log that the
// program set, if any. One per process; thread-safe.
class EalMessages {
  public:
    static EalMessages& instance();

    void set_log(EalLog log);
    void add(std::string_view text);
    // Hand to rte_openlog_stream.
    std::FILE* stream();

    // A point in time, and what was said since, last lines only.
    std::uint64_t mark() const;
    std::string since(std::uint64_t mark) const;

    EalMessages(const EalMessages&) = delete;
    EalMessages& operator=(const EalMessages&) = delete;

  private:
    EalMessages();
    struct State;
    State* state_;
};

// While it lives, what the thread that made it prints through C's stdout and stderr goes to
// EalMessages; other threads print as ever. Waits for its like on other threads; not nested. DPDK
// and the libraries under its drivers print at set-up and its end only.
class PrintCapture {
  public:
    PrintCapture();
    ~PrintCapture();
    PrintCapture(const PrintCapture&) = delete;
    PrintCapture& operator=(const PrintCapture&) = delete;

  private:
    std::unique_lock<std::mutex> alone_;
    std::FILE* stdout_;
    std::FILE* stderr_;
};

}  // namespace sumwire::nic
