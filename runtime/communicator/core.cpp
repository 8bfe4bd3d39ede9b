#include "runtime/communicator/core.h"

#include <fmt/core.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cfenv>
#include <random>
#include <utility>

#include "gpu/device.h"
#include "nic/port_spec.h"
#include "runtime/communicator/thread_reaper.h"
#include "runtime/progress_thread.h"

namespace sumwire::runtime {

namespace {

// The longest a progress thread naps in its port while something is under way. A submission that
// comes meanwhile cannot wake it and waits for the nap's end, so naps are short as long as one is
// likely, and longer where a rank waits and waits for another.
constexpr auto short_nap = std::chrono::microseconds(50);
constexpr Time short_naps_last = std::chrono::milliseconds(50);
constexpr auto long_nap = std::chrono::microseconds(250);
// The same where the caller asked for the least CPU time.
constexpr auto longest_nap = std::chrono::microseconds(1000);
// How long it polls on when nothing is under way any more: the next collective often follows soon,
// and waking a blocked thread costs tens of microseconds.
constexpr Time idle_patience = std::chrono::microseconds(200);
// The longest it then rests: bounds how late a lost peer is noticed.
constexpr auto longest_rest = std::chrono::milliseconds(50);
constexpr Time deadline_check_interval = std::chrono::milliseconds(1);
constexpr auto farewell_patience = std::chrono::milliseconds(200);

constexpr std::size_t largest_automatic_payload = 8192;

std::uint16_t choose_payload(const Options& options, const nic::PortInfo& info) {
    if (info.max_datagram < nic::header_bytes + nic::Join::bytes) {
        throw SetupError(fmt::format(
            "the port {} carries datagrams of {} bytes, too small to join a job; raise its "
            "MTU to at least {}",
            info.description, info.max_datagram,
            nic::frame_overhead_bytes - 14 + nic::Join::bytes));
    }
    const std::size_t room = (info.max_datagram - nic::header_bytes) / 64 * 64;
    if (options.payload_bytes > room) {
        throw SetupError(
            fmt::format("payload_bytes is {}, but the port {} carries {} at most; choose that or "
                        "less, or raise "
                        "the MTU of every link on the way",
                        options.payload_bytes, info.description, room));
    }
    return static_cast<std::uint16_t>(options.payload_bytes != 0
                                          ? options.payload_bytes
                                          : std::min(room, largest_automatic_payload));
}

// As many packets under way as the port can hold while this process is busy.
std::uint16_t choose_slots(const Options& options, const nic::PortInfo& info,
                           std::size_t payload_bytes) {
    constexpr std::size_t fewest = 8;
    std::size_t slots = options.slots;
    if (info.receive_capacity != 0) {
        const std::size_t room = info.receive_capacity / (payload_bytes + nic::header_bytes);
        slots = std::min(slots, std::bit_floor(std::max(room, fewest)));
    }
    return static_cast<std::uint16_t>(slots);
}

void prepare_progress_thread() {
    mark_progress_thread();
    // The host program's signals are for its own threads.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    pthread_setname_np(pthread_self(), "sumwire");
    // Codecs compute in IEEE arithmetic, also where the host program flushes subnormals or rounds
    // another way: threads inherit that.
    std::fesetenv(FE_DFL_ENV);
}

std::uint64_t random_nonce() {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32U) | device();
}

}  // namespace

Core::Core(const ResolvedOptions& resolved)
    : resolved_(resolved), log_(std::make_shared<Log>(resolved.options.log)) {
    const Options& options = resolved_.options;
    try {
        if (resolved_.embed) embedded_ = share_embedded_aggregator(*resolved_.embed);
        port_ = nic::open_port(options.port, {.peer = resolved_.aggregator});
    } catch (const nic::SetupError& error) {
        throw SetupError(prefix() + error.what());
    }

    const std::uint16_t payload_bytes = choose_payload(options, port_->info());
    SessionConfig config;
    config.join = {.nonce = random_nonce(),
                   .rank = static_cast<std::uint16_t>(options.rank),
                   .world_size = static_cast<std::uint16_t>(options.world_size),
                   .payload_bytes = payload_bytes,
                   .slots = choose_slots(options, port_->info(), payload_bytes),
                   .peer_timeout_ms = static_cast<std::uint32_t>(options.peer_timeout.count()),
                   .checksums = options.checksums || !port_->info().detects_corruption,
                   .float_sums = options.float_sums,
                   .job = options.job};
    const Time now = steady_now();
    config.join_timeout = options.join_timeout;
    config.max_messages = CollectiveEngine::max_messages;
    session_ = std::make_unique<WorkerSession>(config, now);
    join();
    engine_ = std::make_unique<CollectiveEngine>(gpu::host_device(), *port_, *session_,
                                                 static_cast<std::uint32_t>(options.world_size));
}

std::shared_ptr<Core> Core::start(const ResolvedOptions& resolved) {
    std::shared_ptr<Core> core(new Core(resolved));
    core->thread_ = std::thread([core]() mutable {
        core->run();
        const auto ended = core->thread_ended_;
        core.reset();
        ended->store(true, std::memory_order_release);
    });
    return core;
}

void Core::stop() {
    {
        // Both at once: whoever sees the stop finds a reason to fail what is under way.
        const std::lock_guard lock(mutex_);
        if (!over_)
            over_ = std::make_exception_ptr(Error(prefix() + "the communicator was closed"));
        stop_.store(true);
    }
    wake_.notify_all();
    if (thread_.get_id() == std::this_thread::get_id()) {
        adopt_thread(std::move(thread_), thread_ended_);
    } else {
        thread_.join();
    }
}

void Core::join() {
    nic::IdleStrategy idle_strategy(resolved_.polling, resolved_.pollers);
    while (session_->state() == WorkerSession::State::joining) {
        if (pump(steady_now())) {
            idle_strategy.reset();
        } else {
            check_aggregator();
            idle_strategy.idle(*port_, longest_nap);
        }
    }
    if (session_->state() == WorkerSession::State::failed) {
        std::rethrow_exception(to_exception(session_->failure()));
    }
}

void Core::run() {
    prepare_progress_thread();
    fail_operations(serve_until_over());
    try {
        if (leaves_at_once_) say_farewell();
        attend();
        say_farewell();
    } catch (...) {
        // Everybody who waited has been told; what is left is to be there until stop.
        (*log_)(LogLevel::warning, message_of(std::current_exception()));
        wait_for_stop();
    }
    embedded_.reset();
}

// Returns what ended the communicator, never null.
std::exception_ptr Core::serve_until_over() {
    try {
        serve();
    } catch (const DeadlineExceeded&) {
        return std::current_exception();
    } catch (const ProtocolError& error) {
        leaves_at_once_ = true;
        return std::make_exception_ptr(ProtocolError(prefix() + error.what()));
    } catch (...) {
        leaves_at_once_ = session_->state() == WorkerSession::State::running;
        return std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    return over_;
}

void Core::serve() {
    nic::IdleStrategy idle_strategy(resolved_.polling, resolved_.pollers);
    while (!stop_.load(std::memory_order_relaxed)) {
        const Time now = steady_now();
        bool worked = take_submissions();
        worked |= pump(now);
        worked |= engine_->advance();
        publish_counters();
        check_aggregator();
        check_deadlines(now);
        if (worked) {
            last_work_ = now;
            idle_strategy.reset();
        } else {
            rest(idle_strategy, now);
        }
    }
}

void Core::rest(nic::IdleStrategy& idle_strategy, Time now) {
    if (!engine_->idle()) {
        idle_strategy.idle(*port_, nap(now));
        return;
    }
    if (polls_on(now)) {
        idle_strategy.idle(*port_, std::chrono::microseconds(0));
        return;
    }
    const auto until_deadline = session_->next_deadline() - now;
    const auto limit = std::clamp<Time>(until_deadline, std::chrono::milliseconds(1), longest_rest);
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, limit, [this] { return !submitted_.empty() || stop_.load(); });
}

std::chrono::microseconds Core::nap(Time now) const {
    if (resolved_.polling == nic::Polling::sleep) return longest_nap;
    return now - last_work_ < short_naps_last ? short_nap : long_nap;
}

bool Core::polls_on(Time now) const {
    switch (resolved_.polling) {
        case nic::Polling::spin:
            return true;
        case nic::Polling::sleep:
            return false;
        case nic::Polling::automatic:
        case nic::Polling::yield:
            break;
    }
    return now - last_work_ < idle_patience;
}

bool Core::take_submissions() {
    if (!has_submissions_.load(std::memory_order_acquire)) return false;
    const std::lock_guard lock(mutex_);
    has_submissions_.store(false, std::memory_order_relaxed);
    const PathEstimator& path = session_->path();
    if (path.known()) engine_->set_link_costs({path.round_trip(), path.bytes_per_second()});
    for (Operation& operation : submitted_)
        engine_->submit(std::move(operation));
    submitted_.clear();
    return true;
}

bool Core::pump(Time now) {
    bool worked = receive(now);
    worked |= transmit(now);
    return worked;
}

bool Core::receive(Time now) {
    std::array<nic::RxPacket, burst> received;
    const std::size_t count = port_->receive(received);
    for (std::size_t i = 0; i < count; ++i)
        session_->receive(received[i].datagram, now);
    port_->release(std::span(received).first(count));
    return count != 0;
}

bool Core::transmit(Time now) {
    if (sent_ == polled_) {
        sent_ = 0;
        polled_ = session_->poll_transmit(now, outgoing_);
        if (polled_ == 0) return false;
    }
    std::array<nic::TxPacket, burst> packets;
    for (std::size_t i = sent_; i < polled_; ++i) {
        packets[i] = {.to = resolved_.aggregator,
                      .header = outgoing_[i].header,
                      .payload = outgoing_[i].payload,
                      .region = outgoing_[i].region};
    }
    const std::size_t taken = port_->transmit(std::span(packets).subspan(sent_, polled_ - sent_));
    sent_ += taken;
    return taken != 0;
}

void Core::publish_counters() {
    // Stored on change alone: readers' copies of the line stay valid meanwhile.
    const auto publish = [](std::atomic<std::uint64_t>& copy, std::uint64_t value) {
        if (copy.load(std::memory_order_relaxed) != value)
            copy.store(value, std::memory_order_relaxed);
    };
    publish(published_.retransmissions, session_->retransmissions());
    const EngineCounters& engine = engine_->counters();
    publish(published_.chunks, engine.chunks);
    publish(published_.stalled_chunks, engine.stalled_chunks);
    for (std::size_t codec = 0; codec < engine.chunks_by_codec.size(); ++codec)
        publish(published_.chunks_by_codec[codec], engine.chunks_by_codec[codec]);
}

void Core::check_aggregator() const {
    if (!embedded_) return;
    const std::exception_ptr failure = embedded_->failure();
    if (!failure) return;
    const std::string text = fmt::format(
        "{}the aggregator that rank 0 embeds has ended ({}); start the job again, with a "
        "sumwire-aggregator of its own if this repeats",
        prefix(), message_of(failure));
    (*log_)(LogLevel::warning, text);
    throw AggregatorLost(text);
}

void Core::check_deadlines(Time now) {
    if (session_->state() == WorkerSession::State::failed) {
        // What came before the failure may explain it better: that ranks call different
        // collectives.
        while (engine_->advance()) {
        }
        std::rethrow_exception(to_exception(session_->failure()));
    }
    if (engine_->idle() || now < next_deadline_check_) return;
    next_deadline_check_ = now + deadline_check_interval;
    if (now < engine_->next_deadline()) return;
    const auto missing = session_->missing_rank();
    const std::string who =
        missing ? fmt::format(
                      "the aggregator waits for rank {} (slot {}, {} of {} ranks are there); "
                      "look at what that rank does",
                      missing->rank, missing->slot, missing->present, resolved_.options.world_size)
                : std::string(
                      "nothing says which rank is late; raise Options::deadline if the "
                      "network is this slow");
    // submit gives later operations later deadlines: it is the oldest one's that has passed.
    throw DeadlineExceeded(fmt::format("{}{} did not end within its deadline: {}", prefix(),
                                       engine_->describe_oldest(), who));
}

void Core::fail_operations(const std::exception_ptr& failure) {
    assert(failure != nullptr);  // null would report success
    std::vector<Operation> never_started;
    {
        const std::lock_guard lock(mutex_);
        over_ = failure;
        never_started.swap(submitted_);
    }
    engine_->fail_all(failure);
    for (Operation& operation : never_started)
        operation.completion->finish(failure);
}

// The session goes on for as long as the caller keeps the communicator: peers that wait see a live
// rank and report what they wait for, not that this rank left.
void Core::attend() {
    while (!stop_.load()) {
        if (!pump(steady_now())) {
            std::unique_lock lock(mutex_);
            wake_.wait_for(lock, longest_rest, [this] { return stop_.load(); });
        }
    }
}

void Core::wait_for_stop() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return stop_.load(); });
}

void Core::say_farewell() {
    session_->leave();
    const Time until = steady_now() + farewell_patience;
    while (!session_->gone() && steady_now() < until) {
        if (!pump(steady_now())) port_->wait(longest_nap);
    }
}

void Core::submit(Operation operation) {
    {
        const std::lock_guard lock(mutex_);
        if (over_) std::rethrow_exception(over_);
        // Under the lock, so that deadlines come in the order of operations.
        operation.deadline = deadline_after(steady_now(), resolved_.options.deadline);
        submitted_.push_back(std::move(operation));
        has_submissions_.store(true, std::memory_order_release);
    }
    wake_.notify_one();
}

std::string Core::prefix() const {
    const Options& options = resolved_.options;
    return fmt::format("job '{}', rank {} of {}, aggregator {}: ", options.job, options.rank,
                       options.world_size, nic::to_string(resolved_.aggregator));
}

std::exception_ptr Core::to_exception(const SessionFailure& failure) const {
    std::string text = prefix() + failure.text;
    if (failure.kind == SessionFailure::Kind::no_answer && resolved_.embed) {
        text +=
            "; this rank embeds the aggregator itself, so MASTER_ADDR must be an address of "
            "this machine";
    }
    using Kind = SessionFailure::Kind;
    switch (failure.kind) {
        case Kind::refused:
        case Kind::no_answer:
        case Kind::path_mtu:
            return std::make_exception_ptr(SetupError(text));
        case Kind::ranks_missing:
            return std::make_exception_ptr(DeadlineExceeded(text));
        case Kind::peer_lost:
            return std::make_exception_ptr(PeerLost(failure.rank, text));
        case Kind::aggregator_lost:
            return std::make_exception_ptr(AggregatorLost(text));
        case Kind::contradiction:
            return std::make_exception_ptr(ProtocolError(text));
    }
    return std::make_exception_ptr(Error(text));
}

Statistics Core::statistics() const {
    const nic::PortCounters counters = port_->counters();
    return {.wire_bytes_tx = counters.tx_bytes,
            .wire_bytes_rx = counters.rx_bytes,
            .packets_tx = counters.tx_packets,
            .packets_rx = counters.rx_packets,
            .retransmissions = published_.retransmissions.load(std::memory_order_relaxed),
            .stalled_chunks = published_.stalled_chunks.load(std::memory_order_relaxed),
            .chunks = published_.chunks.load(std::memory_order_relaxed),
            .dense_chunks = published_.of(gpu::Codec::dense),
            .packed_chunks = published_.of(gpu::Codec::packed),
            .sketch_chunks = published_.of(gpu::Codec::sketch)};
}

std::string Core::description() const {
    const nic::Welcome& agreed = session_->agreed();
    return fmt::format("{}port {}{}, {} bytes of data a packet, {} slots{}", prefix(),
                       port_->info().description,
                       resolved_.embed ? ", aggregator embedded here" : "", agreed.payload_bytes,
                       agreed.slots, agreed.checksums ? ", checksums" : "");
}

}  // namespace sumwire::runtime
