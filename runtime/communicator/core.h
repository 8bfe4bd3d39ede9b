// What a communicator is made of: a port, a session, an engine, and the thread that drives them.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "nic/polling.h"
#include "nic/port.h"
#include "nic/time.h"
#include "runtime/communicator/resolved_options.h"
#include "runtime/engine/collective_engine.h"
#include "runtime/log.h"
#include "runtime/session/worker_session.h"

namespace sumwire::runtime {

class Core {
  public:
    // Opens the port, embeds the aggregator if asked to, joins, and starts the thread, which keeps
    // the core alive until stop. Throws SetupError or DeadlineExceeded.
    static std::shared_ptr<Core> start(const ResolvedOptions& resolved);
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    // Gives the operation its deadline and hands it to the thread. Thread-safe. Throws what ended
    // the communicator if it is over.
    void submit(Operation operation);

    // Leaves the job and ends the thread; operations under way fail. Called once. From a
    // completion's callback it returns at once, and the thread ends by itself.
    void stop();

    const Options& options() const { return resolved_.options; }
    const std::shared_ptr<const Log>& log() const { return log_; }
    nic::PacketPort& port() { return *port_; }
    Statistics statistics() const;
    std::string description() const;

  private:
    static constexpr std::size_t burst = 64;

    explicit Core(const ResolvedOptions& resolved);
    void join();
    void run();
    std::exception_ptr serve_until_over();
    void serve();
    void fail_operations(const std::exception_ptr& failure);
    void attend();
    void wait_for_stop();
    void say_farewell();
    bool pump(Time now);
    bool receive(Time now);
    bool transmit(Time now);
    bool take_submissions();
    void publish_counters();
    void check_aggregator() const;
    void check_deadlines(Time now);
    void rest(nic::IdleStrategy& idle_strategy, Time now);
    std::chrono::microseconds nap(Time now) const;
    bool polls_on(Time now) const;
    std::exception_ptr to_exception(const SessionFailure& failure) const;
    std::string prefix() const;

    ResolvedOptions resolved_;
    std::shared_ptr<const Log> log_;
    std::shared_ptr<EmbeddedAggregator> embedded_;
    std::unique_ptr<nic::PacketPort> port_;
    std::unique_ptr<WorkerSession> session_;
    std::unique_ptr<CollectiveEngine> engine_;
    Time next_deadline_check_{};
    Time last_work_{};
    bool leaves_at_once_ = false;

    // Packets that the session has handed out and the port has not yet taken: [sent_, polled_).
    std::array<SessionPacket, burst> outgoing_;
    std::size_t sent_ = 0;
    std::size_t polled_ = 0;

    std::mutex mutex_;  // guards submitted_ and over_
    std::condition_variable wake_;
    std::vector<Operation> submitted_;
    std::exception_ptr over_;
    std::atomic<bool> has_submissions_ = false;
    std::atomic<bool> stop_ = false;  // becomes true with over_, under the mutex

    // Copies for other threads, written by the progress thread: on a line that callers' submissions
    // leave alone.
    struct alignas(64) Published {
        std::atomic<std::uint64_t> retransmissions = 0;
        std::atomic<std::uint64_t> chunks = 0;
        std::atomic<std::uint64_t> stalled_chunks = 0;
        std::array<std::atomic<std::uint64_t>, 3> chunks_by_codec{};

        std::uint64_t of(gpu::Codec codec) const {
            return chunks_by_codec[static_cast<std::size_t>(codec)].load(std::memory_order_relaxed);
        }
    };
    Published published_;

    std::thread thread_;
    std::shared_ptr<std::atomic<bool>> thread_ended_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace sumwire::runtime
