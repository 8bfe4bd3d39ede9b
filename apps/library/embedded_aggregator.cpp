// Gives the runtime its embedded aggregator (runtime/communicator/embedded_aggregator.h).
#include "runtime/communicator/embedded_aggregator.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "nic/port_spec.h"
#include "runtime/log.h"
#include "switch_emu/embedded_aggregator.h"

namespace sumwire::runtime {

namespace {

using Milliseconds = std::chrono::milliseconds;

// Port text, UDP port, and the process: a forked child has inherited the entries, not the threads.
using Key = std::tuple<std::string, std::uint16_t, pid_t>;

class InProcessAggregator;

// The aggregators of this process. An entry without an aggregator is one that is starting, or that
// lingers and has not let go of its port yet.
struct Registry {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<Key, std::weak_ptr<InProcessAggregator>> aggregators;
};

// Never destroyed: owners may outlive it otherwise.
Registry& registry() {
    static auto* const state = new Registry;
    return *state;
}

// Removes its entry in the end.
class Registration {
  public:
    explicit Registration(const Key* key) : key_(key) {}
    Registration(Registration&& other) noexcept : key_(std::exchange(other.key_, nullptr)) {}
    Registration& operator=(Registration&&) = delete;
    ~Registration() {
        if (key_ == nullptr) return;
        const std::lock_guard lock(registry().mutex);
        registry().aggregators.erase(registry().aggregators.find(*key_));
        registry().changed.notify_all();
    }

  private:
    const Key* key_;  // the entry's own
};

class InProcessAggregator : public EmbeddedAggregator {
  public:
    InProcessAggregator(Registration registration, std::unique_ptr<nic::PacketPort> port,
                        const aggregator::AggregatorLoop::Options& options)
        : registration_(std::move(registration)), aggregator_(std::move(port), options) {}
    ~InProcessAggregator() override { aggregator_.finish(linger_); }

    std::exception_ptr failure() const override { return aggregator_.failure(); }

    // Thread-safe.
    void linger_at_least(Milliseconds linger) {
        Milliseconds current = linger_.load();
        while (current < linger && !linger_.compare_exchange_weak(current, linger)) {
        }
    }

  private:
    Registration registration_;  // first, so that it goes when the port is closed
    aggregator::EmbeddedAggregator aggregator_;
    std::atomic<Milliseconds> linger_{Milliseconds(0)};
};

std::shared_ptr<InProcessAggregator> start(Registration registration,
                                           const EmbeddedAggregatorConfig& config) {
    auto port = nic::open_port(config.port, {.udp_port = config.udp_port, .peer = {}});
    aggregator::AggregatorLoop::Options options;
    options.polling = config.polling;
    options.pollers = config.pollers;
    return std::make_shared<InProcessAggregator>(std::move(registration), std::move(port), options);
}

std::shared_ptr<InProcessAggregator> find_or_start(const EmbeddedAggregatorConfig& config) {
    const Key key(config.port, config.udp_port, getpid());
    Registry& known = registry();
    std::unique_lock lock(known.mutex);
    auto entry = known.aggregators.find(key);
    while (entry != known.aggregators.end()) {
        if (auto running = entry->second.lock()) return running;
        known.changed.wait(lock);
        entry = known.aggregators.find(key);
    }
    entry = known.aggregators.try_emplace(key).first;
    lock.unlock();

    auto started = start(Registration(&entry->first), config);
    lock.lock();
    entry->second = started;
    known.changed.notify_all();
    return started;
}

}  // namespace

std::shared_ptr<EmbeddedAggregator> share_embedded_aggregator(
    const EmbeddedAggregatorConfig& config) {
    auto aggregator = find_or_start(config);
    if (const auto failure = aggregator->failure()) {
        throw nic::SetupError(fmt::format(
            "the aggregator that this process embeds on UDP port {} has ended ({}); close the "
            "communicators that used it first",
            config.udp_port, message_of(failure)));
    }
    aggregator->linger_at_least(config.linger);
    return aggregator;
}

}  // namespace sumwire::runtime
