// Worker sessions and the aggregator together, in virtual time, over a network that loses,
// duplicates, delays and damages datagrams by a seed.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <queue>
#include <random>
#include <tuple>
#include <vector>

#include "runtime/session/worker_session.h"
#include "switch_emu/aggregator.h"

namespace sumwire {
namespace {

using namespace std::chrono_literals;
using runtime::WorkerSession;
using Bytes = std::vector<std::byte>;

struct Faults {
    double loss = 0;
    double duplicate = 0;
    double corrupt = 0;
    Time jitter = 0us;
};

struct Datagram {
    Time due{};
    std::uint64_t order = 0;
    int to = 0;  // rank, or -1: the aggregator
    int from = 0;
    Bytes bytes;

    bool operator>(const Datagram& other) const {
        return std::tie(due, order) > std::tie(other.due, other.order);
    }
};

class Network {
  public:
    Network(unsigned ranks, const Faults& faults, std::uint64_t seed, bool checksums,
            std::uint32_t peer_timeout_ms = 5000, std::uint32_t first_sequence = 0)
        : faults_(faults), random_(seed), ids_(seed), outbox_(64) {
        aggregator::Limits limits;
        limits.payload_bytes = 256;
        aggregator_ =
            std::make_unique<aggregator::Aggregator>(limits, [this] { return ids_() | 1U; });
        for (unsigned rank = 0; rank < ranks; ++rank) {
            runtime::SessionConfig config;
            config.join = {.nonce = random_(),
                           .rank = static_cast<std::uint16_t>(rank),
                           .world_size = static_cast<std::uint16_t>(ranks),
                           .payload_bytes = 256,
                           .slots = 16,
                           .peer_timeout_ms = peer_timeout_ms,
                           .checksums = checksums,
                           .float_sums = true,
                           .job = "simulated"};
            config.first_sequence = first_sequence;
            sessions_.push_back(std::make_unique<WorkerSession>(config, now_));
        }
    }

    WorkerSession& session(unsigned rank) { return *sessions_[rank]; }
    Time now() const { return now_; }

    // Lets 100 microseconds pass. Ranks in `asleep` neither send nor receive.
    void step(int asleep = -1) {
        now_ += 100us;
        for (int rank = 0; rank < static_cast<int>(sessions_.size()); ++rank) {
            if (rank == asleep) continue;
            std::array<runtime::SessionPacket, 8> out;
            const std::size_t count = sessions_[rank]->poll_transmit(now_, out);
            for (std::size_t i = 0; i < count; ++i)
                send(rank, -1, out[i].header, out[i].payload);
        }
        while (!in_flight_.empty() && in_flight_.top().due <= now_) {
            const Datagram datagram = in_flight_.top();
            in_flight_.pop();
            if (datagram.to >= 0) {
                if (datagram.to != asleep) {
                    sessions_[datagram.to]->receive(datagram.bytes, now_);
                }
                continue;
            }
            aggregator_->receive(address_of(datagram.from), datagram.bytes, now_, outbox_);
            flush();
        }
        if (aggregator_->next_deadline() <= now_) {
            aggregator_->expire(now_, outbox_);
            flush();
        }
    }

  private:
    static nic::Endpoint address_of(int rank) {
        return {.address = 0x0a000001U + static_cast<std::uint32_t>(rank), .port = 9};
    }

    void flush() {
        for (const aggregator::Outgoing& packet : outbox_.packets()) {
            send(-1, static_cast<int>(packet.to.address - 0x0a000001U), packet.header,
                 packet.payload);
        }
        outbox_.clear();
    }

    bool happens(double probability) {
        return std::uniform_real_distribution<>(0, 1)(random_) < probability;
    }

    void send(int from, int to, std::span<const std::byte> header,
              std::span<const std::byte> payload) {
        if (happens(faults_.loss)) return;
        const int copies = happens(faults_.duplicate) ? 2 : 1;
        for (int copy = 0; copy < copies; ++copy) {
            Datagram datagram{.due = now_ + 50us + faults_.jitter * (random_() % 100) / 100,
                              .order = order_++,
                              .to = to,
                              .from = from,
                              .bytes = Bytes(header.begin(), header.end())};
            datagram.bytes.insert(datagram.bytes.end(), payload.begin(), payload.end());
            if (happens(faults_.corrupt)) {
                datagram.bytes[random_() % datagram.bytes.size()] ^=
                    static_cast<std::byte>(1U << (random_() % 8));
            }
            in_flight_.push(std::move(datagram));
        }
    }

    Faults faults_;
    std::mt19937_64 random_;
    std::mt19937_64 ids_;
    Time now_ = 1000s;
    std::uint64_t order_ = 0;
    std::unique_ptr<aggregator::Aggregator> aggregator_;
    aggregator::Outbox outbox_;
    std::vector<std::unique_ptr<WorkerSession>> sessions_;
    std::priority_queue<Datagram, std::vector<Datagram>, std::greater<>> in_flight_;
};

struct Planned {
    std::size_t lane;
    nic::Op op;
    std::size_t bytes;
};

// What every rank contributes, and what comes of it, computed word by word without the aggregator.
struct Exchange {
    std::vector<std::vector<Bytes>> ranks;  // [rank][message]
    std::vector<Bytes> expected;            // [message]
};

template <class Word, class F>
Bytes fold(const std::vector<const Bytes*>& inputs, F combine) {
    Bytes result = *inputs[0];
    for (std::size_t i = 1; i < inputs.size(); ++i) {
        for (std::size_t at = 0; at < result.size(); at += sizeof(Word)) {
            Word a{};
            Word b{};
            std::memcpy(&a, result.data() + at, sizeof a);
            std::memcpy(&b, inputs[i]->data() + at, sizeof b);
            a = combine(a, b);
            std::memcpy(result.data() + at, &a, sizeof a);
        }
    }
    return result;
}

Exchange plan(unsigned ranks, const std::vector<Planned>& messages, std::mt19937_64& random) {
    Exchange exchange;
    exchange.ranks.resize(ranks);
    for (const Planned& message : messages) {
        std::vector<const Bytes*> inputs;
        for (unsigned rank = 0; rank < ranks; ++rank) {
            Bytes bytes(message.bytes);
            for (std::size_t at = 0; at < bytes.size(); at += 4) {
                auto word = static_cast<std::uint32_t>(random());
                if (message.op == nic::Op::add_f32) {
                    const float value = std::ldexp(static_cast<float>(word), -20);
                    std::memcpy(&word, &value, 4);
                }
                std::memcpy(bytes.data() + at, &word, 4);
            }
            exchange.ranks[rank].push_back(std::move(bytes));
        }
        for (unsigned rank = 0; rank < ranks; ++rank) {
            inputs.push_back(&exchange.ranks[rank].back());
        }
        using U32 = std::uint32_t;
        using U8 = std::uint8_t;
        switch (message.op) {
            case nic::Op::bit_or:
                exchange.expected.push_back(fold<U32>(inputs, [](U32 a, U32 b) { return a | b; }));
                break;
            case nic::Op::add_i32:
                exchange.expected.push_back(fold<U32>(inputs, [](U32 a, U32 b) { return a + b; }));
                break;
            case nic::Op::max_u8:
                exchange.expected.push_back(
                    fold<U8>(inputs, [](U8 a, U8 b) { return std::max(a, b); }));
                break;
            default:
                exchange.expected.push_back(
                    fold<float>(inputs, [](float a, float b) { return a + b; }));
                break;
        }
    }
    return exchange;
}

struct Case {
    const char* name;
    unsigned ranks;
    Faults faults;
    std::uint32_t first_sequence = 0;
};

class LossyNetwork : public testing::TestWithParam<Case> {};

TEST_P(LossyNetwork, EveryRankGetsTheRightAggregates) {
    const auto& [name, ranks, faults, first_sequence] = GetParam();
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed * 7919);
        Network network(ranks, faults, seed, faults.corrupt > 0, 5000, first_sequence);
        for (unsigned rank = 0; rank < ranks; ++rank) {
            while (network.session(rank).state() == WorkerSession::State::joining)
                network.step();
            ASSERT_EQ(network.session(rank).state(), WorkerSession::State::running)
                << network.session(rank).failure().text;
        }

        std::vector<Planned> messages;
        constexpr std::array ops{nic::Op::bit_or, nic::Op::add_i32, nic::Op::max_u8,
                                 nic::Op::add_f32};
        for (int i = 0; i < 60; ++i) {
            messages.push_back({.lane = random() % WorkerSession::lane_count,
                                .op = ops[random() % ops.size()],
                                .bytes = (random() % 8 == 0 ? 0 : random() % 700) * 4});
        }
        Exchange exchange = plan(ranks, messages, random);

        // Ranks post at their own pace: the order within a lane is all that they share.
        std::vector<std::size_t> posted(ranks);
        std::vector<std::size_t> completed(ranks);
        const Time deadline = network.now() + 60s;
        const auto finished = [&] {
            for (unsigned rank = 0; rank < ranks; ++rank) {
                if (completed[rank] != messages.size()) return false;
            }
            return true;
        };
        while (!finished()) {
            ASSERT_LT(network.now(), deadline);
            for (unsigned rank = 0; rank < ranks; ++rank) {
                WorkerSession& session = network.session(rank);
                if (posted[rank] != messages.size() && random() % 4 == 0) {
                    const std::size_t next = posted[rank]++;
                    ASSERT_TRUE(
                        session.post(messages[next].lane, {.op = messages[next].op,
                                                           .bytes = exchange.ranks[rank][next],
                                                           .token = next}));
                }
                while (session.take_completed())
                    ++completed[rank];
            }
            network.step();
        }
        for (unsigned rank = 0; rank < ranks; ++rank) {
            for (std::size_t i = 0; i < messages.size(); ++i) {
                EXPECT_EQ(exchange.ranks[rank][i], exchange.expected[i])
                    << "rank " << rank << ", message " << i;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, LossyNetwork,
    testing::Values(
        Case{"perfect", 3, {}}, Case{"alone", 1, {.loss = 0.05}}, Case{"loss", 4, {.loss = 0.1}},
        Case{"duplicates", 3, {.duplicate = 0.2}}, Case{"reordering", 3, {.jitter = 2ms}},
        Case{"damage", 3, {.corrupt = 0.05}},
        Case{"everything", 5, {.loss = 0.05, .duplicate = 0.1, .corrupt = 0.02, .jitter = 1ms}},
        Case{"wrap", 3, {}, 0xfffffff0},
        Case{"wrap_and_everything",
             4,
             {.loss = 0.1, .duplicate = 0.1, .corrupt = 0.02, .jitter = 1ms},
             0xfffffff0}),
    [](const auto& instance) { return instance.param.name; });

// Ten seconds are eighty heartbeats of each rank, at the shortest peer timeout there is.
TEST(LossyNetworkIdle, IdleRanksStayAliveThroughLosses) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(seed);
        Network network(3, {.loss = 0.1}, seed, false, nic::min_peer_timeout_ms);
        for (unsigned rank = 0; rank < 3; ++rank) {
            while (network.session(rank).state() == WorkerSession::State::joining)
                network.step();
        }
        const Time end = network.now() + 10s;
        while (network.now() < end)
            network.step();
        for (unsigned rank = 0; rank < 3; ++rank) {
            EXPECT_EQ(network.session(rank).state(), WorkerSession::State::running)
                << network.session(rank).failure().text;
        }
    }
}

TEST(LossyNetworkFailures, ASilentRankIsNamedToAllOthers) {
    Network network(3, {.loss = 0.1}, 5, false);
    for (unsigned rank = 0; rank < 3; ++rank) {
        while (network.session(rank).state() == WorkerSession::State::joining)
            network.step();
    }
    const Time silence = network.now();
    while (network.session(0).state() == WorkerSession::State::running ||
           network.session(1).state() == WorkerSession::State::running) {
        ASSERT_LT(network.now(), silence + 10s);
        network.step(2);
    }
    for (unsigned rank = 0; rank < 2; ++rank) {
        EXPECT_EQ(network.session(rank).failure().kind, runtime::SessionFailure::Kind::peer_lost);
        EXPECT_EQ(network.session(rank).failure().rank, 2U);
    }
    EXPECT_GE(network.now() - silence, 4900ms) << "not before the peer timeout";
}

TEST(LossyNetworkFailures, RanksThatCallDifferentCollectivesBothLearnOfIt) {
    Network network(2, {.loss = 0.1}, 7, false);
    for (unsigned rank = 0; rank < 2; ++rank) {
        while (network.session(rank).state() == WorkerSession::State::joining)
            network.step();
    }
    Bytes a(64);
    Bytes b(60);
    network.session(0).post(0, {.op = nic::Op::add_i32, .bytes = a, .token = 1});
    network.session(1).post(0, {.op = nic::Op::add_i32, .bytes = b, .token = 1});
    const Time posted = network.now();
    while (network.session(0).state() == WorkerSession::State::running ||
           network.session(1).state() == WorkerSession::State::running) {
        ASSERT_LT(network.now(), posted + 2s);
        network.step();
    }
    for (unsigned rank = 0; rank < 2; ++rank) {
        EXPECT_EQ(network.session(rank).failure().kind,
                  runtime::SessionFailure::Kind::contradiction);
        EXPECT_EQ(network.session(rank).failure().rank, 1 - rank);
    }
}

TEST(LossyNetworkFailures, ALeavingRankIsNamedToThoseWhoNeedIt) {
    Network network(3, {}, 6, false);
    for (unsigned rank = 0; rank < 3; ++rank) {
        while (network.session(rank).state() == WorkerSession::State::joining)
            network.step();
    }
    network.session(1).leave();
    Bytes a(64);
    Bytes b(64);
    network.session(0).post(0, {.op = nic::Op::add_i32, .bytes = a, .token = 1});
    network.session(2).post(0, {.op = nic::Op::add_i32, .bytes = b, .token = 1});
    const Time left = network.now();
    while (network.session(0).state() == WorkerSession::State::running ||
           network.session(2).state() == WorkerSession::State::running) {
        ASSERT_LT(network.now(), left + 2s);
        network.step();
    }
    EXPECT_EQ(network.session(0).failure().rank, 1U);
    EXPECT_EQ(network.session(2).failure().rank, 1U);
}

}  // namespace
}  // namespace sumwire
