#include "tests/simulation/world.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <random>

#include "switch_emu/aggregator.h"
#include "tests/simulation/virtual_network.h"

namespace sumwire::simulation {

namespace {

using namespace std::chrono_literals;

constexpr Time begin = 1000s;
constexpr nic::Endpoint aggregator_endpoint{.address = 0x0a000001, .port = 21335};

// A moment of the schedule.
Time at(Time since_begin) {
    return deadline_after(begin, since_begin);
}

nic::Endpoint endpoint_of(std::size_t job, std::uint16_t rank) {
    return {.address = 0x0a010000U + static_cast<std::uint32_t>(job << 16U) + rank, .port = 9};
}

class World {
  public:
    explicit World(const Schedule& schedule)
        : schedule_(schedule),
          random_(schedule.seed),
          network_(schedule.faults, partitions(), schedule.seed + 1) {
        start_aggregator();
        references_.reserve(schedule.jobs.size());
        for (std::size_t job = 0; job < schedule.jobs.size(); ++job)
            add_ranks(job);
    }

    Report run() {
        const Time end = at(schedule_.deadline);
        while (now_ < end && !all_gone()) {
            const Time next = next_event();
            if (next > end) break;
            now_ = std::max(now_, next);
            handle_aggregators_fate();
            deliver();
            expire();
            for (Place& place : places_) {
                if (place.next <= now_ && awake(place)) work(place);
            }
        }
        Report report{.ranks = {}, .lasted = now_ - begin};
        for (const Place& place : places_) {
            report.ranks.push_back({.job = schedule_.jobs[place.job].name,
                                    .rank = place.number,
                                    .outcome = place.rank->outcome(),
                                    .error = place.rank->error(),
                                    .bytes_sent = place.rank->bytes_sent()});
        }
        return report;
    }

  private:
    struct Place {
        std::size_t job = 0;
        std::uint16_t number = 0;
        std::optional<Stall> stall;
        std::unique_ptr<Rank> rank;
        std::vector<std::vector<std::byte>> inbox{};  // what came while it was not at work
        Time next = begin;
    };

    std::vector<Partition> partitions() const {
        if (!schedule_.partition) return {};
        return {{.node = endpoint_of(0, schedule_.partition->rank),
                 .begin = at(schedule_.partition->begin),
                 .end = at(schedule_.partition->end)}};
    }

    void add_ranks(std::size_t job) {
        const JobPlan& plan = schedule_.jobs[job];
        const auto& reference = references_.emplace_back(references(plan));
        for (std::uint16_t number = 0; number < plan.world_size; ++number) {
            Place place{.job = job, .number = number, .stall = {}, .rank = nullptr};
            for (const Stall& stall : plan.stalls) {
                if (stall.rank == number) place.stall = stall;
            }
            place.rank =
                std::make_unique<Rank>(plan, reference, number, endpoint_of(job, number),
                                       aggregator_endpoint, schedule_.checksums, random_(), begin);
            places_.push_back(std::move(place));
        }
    }

    void start_aggregator() {
        aggregator::Limits limits;
        limits.payload_bytes = 1024;
        aggregator_ =
            std::make_unique<aggregator::Aggregator>(limits, [this] { return random_() | 1U; });
    }

    void handle_aggregators_fate() {
        if (aggregator_ && now_ >= at(schedule_.aggregator_ends) && !ended_) {
            aggregator_.reset();
            ended_ = true;
        }
        if (!aggregator_ && schedule_.aggregator_begins != never &&
            now_ >= at(schedule_.aggregator_begins)) {
            start_aggregator();
        }
    }

    bool all_gone() const {
        return std::ranges::all_of(places_, [](const Place& place) { return place.rank->gone(); });
    }

    Time next_event() const {
        Time next = network_.next_arrival();
        if (aggregator_) next = std::min(next, aggregator_->next_deadline());
        if (!ended_ && schedule_.aggregator_ends != never)
            next = std::min(next, at(schedule_.aggregator_ends));
        if (ended_ && !aggregator_ && schedule_.aggregator_begins != never)
            next = std::min(next, at(schedule_.aggregator_begins));
        for (const Place& place : places_)
            next = std::min(next, std::max(place.next, sleeps_until(place)));
        return next;
    }

    Time sleeps_until(const Place& place) const {
        const bool asleep = place.stall && now_ >= at(place.stall->begin);
        if (!asleep) return now_;
        return place.stall->end == never ? never : std::max(now_, at(place.stall->end));
    }

    bool awake(Place& place) const {
        const Time until = sleeps_until(place);
        if (until == never) place.rank->stop();
        return until <= now_;
    }

    void work(Place& place) {
        for (const auto& datagram : place.inbox)
            place.rank->receive(datagram, now_);
        place.inbox.clear();
        // What is due but may not be sent yet waits for an answer: looking again at once is idle.
        place.next = std::max(place.rank->work(network_, now_), now_ + 200us);
    }

    // All of one moment at once, as a port's burst would have it.
    void deliver() {
        while (network_.next_arrival() <= now_) {
            const Arrival arrival = network_.take();
            if (arrival.to == aggregator_endpoint) {
                if (!aggregator_) continue;
                aggregator_->receive(arrival.from, arrival.bytes, now_, outbox_);
                flush();
                continue;
            }
            const auto place = std::ranges::find(places_, arrival.to, [](const Place& candidate) {
                return candidate.rank->endpoint();
            });
            if (place == places_.end() || place->inbox.size() == inbox_limit) continue;
            place->inbox.push_back(arrival.bytes);
            place->next = now_;
        }
    }

    void expire() {
        if (!aggregator_ || now_ < aggregator_->next_deadline()) return;
        aggregator_->expire(now_, outbox_);
        flush();
    }

    void flush() {
        for (const aggregator::Outgoing& packet : outbox_.packets())
            network_.send(aggregator_endpoint, packet.to, packet.header, packet.payload, now_);
        outbox_.clear();
        aggregator_->free_ended();
    }

    static constexpr std::size_t inbox_limit = 4096;

    const Schedule& schedule_;
    std::mt19937_64 random_;
    VirtualNetwork network_;
    Time now_ = begin;
    std::unique_ptr<aggregator::Aggregator> aggregator_;
    bool ended_ = false;  // the first one
    aggregator::Outbox outbox_{256};
    std::vector<std::vector<std::vector<std::uint32_t>>> references_;  // of each job
    std::vector<Place> places_;
};

}  // namespace

std::size_t Report::count(Outcome outcome) const {
    return static_cast<std::size_t>(std::ranges::count(ranks, outcome, &RankReport::outcome));
}

Report run(const Schedule& schedule) {
    return World(schedule).run();
}

}  // namespace sumwire::simulation
