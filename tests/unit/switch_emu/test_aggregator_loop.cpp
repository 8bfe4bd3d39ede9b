// The loop around the aggregator, over the in-process port, with real threads.
#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "nic/inproc/inproc_port.h"
#include "script.h"
#include "switch_emu/aggregator_loop.h"
#include "switch_emu/embedded_aggregator.h"

namespace sumwire::aggregator::test {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<nic::InprocPort> open(std::uint16_t udp_port = 0, std::size_t mtu = 9000) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    return std::make_unique<nic::InprocPort>(nic::InprocPortOptions{
        .network = test->name(), .ip = {}, .udp_port = udp_port, .mtu = mtu});
}

AggregatorLoop::Options options() {
    AggregatorLoop::Options options;
    options.polling = nic::Polling::sleep;
    return options;
}

Bytes join_datagram(const std::string& job, std::uint16_t rank, std::uint16_t world_size,
                    std::uint32_t peer_timeout_ms) {
    const nic::Join join{.nonce = 1000U + rank,
                         .rank = rank,
                         .world_size = world_size,
                         .payload_bytes = 1024,
                         .slots = 8,
                         .peer_timeout_ms = peer_timeout_ms,
                         .float_sums = true,
                         .job = job};
    Bytes payload(nic::Join::bytes);
    nic::write(join, payload);
    return datagram({.type = nic::PacketType::join, .rank = rank}, payload);
}

// A worker's side by hand: one datagram out, answers in.
class Client {
  public:
    explicit Client(const nic::Endpoint& aggregator) : aggregator_(aggregator), port_(open()) {}

    void send(const Bytes& bytes) {
        const std::span<const std::byte> datagram(bytes);
        const nic::TxPacket packet{.to = aggregator_,
                                   .header = datagram.first(nic::header_bytes),
                                   .payload = datagram.subspan(nic::header_bytes)};
        while (port_->transmit({&packet, 1}) == 0)
            std::this_thread::yield();
    }

    // The next datagram of this type; others are dropped.
    std::optional<Answer> expect(nic::PacketType type) {
        const Time deadline = steady_now() + 20s;
        while (steady_now() < deadline) {
            nic::RxPacket packet;
            if (port_->receive({&packet, 1}) == 0) {
                port_->wait(1ms);
                continue;
            }
            const auto header = nic::read_header(packet.datagram);
            const auto payload = packet.datagram.subspan(nic::header_bytes);
            Answer answer{.to = {},
                          .header = header.value_or(nic::Header{}),
                          .payload = {payload.begin(), payload.end()}};
            port_->release({&packet, 1});
            if (answer.header.type == type) return answer;
        }
        ADD_FAILURE() << "no answer of type " << static_cast<int>(type);
        return std::nullopt;
    }

    void join(std::uint16_t rank, std::uint16_t world_size) {
        send(join_datagram("job", rank, world_size, 60'000));
    }

    nic::Header header(nic::PacketType type, std::uint16_t rank, std::uint64_t session) const {
        return {.type = type, .rank = rank, .session = session};
    }

  private:
    nic::Endpoint aggregator_;
    std::unique_ptr<nic::InprocPort> port_;
};

// Two ranks of one job join and fall silent, while a rank of another fills every burst.
class SaturatedPort final : public nic::PacketPort {
  public:
    explicit SaturatedPort(std::size_t receive_capacity = 0) {
        info_.max_datagram = 9000;
        info_.receive_capacity = receive_capacity;
        joins_ = {join_datagram("silent", 0, 2, 500), join_datagram("silent", 1, 2, 500),
                  join_datagram("busy", 2, 3, 60'000)};
    }

    // Takes nothing for rank 0 of the silent job.
    void block_rank_0() { blocked_ = endpoint_of(0); }

    // Of rank 1 of the silent job.
    bool welcomed() const { return welcomed_; }
    bool told() const { return told_; }

    const nic::PortInfo& info() const override { return info_; }
    std::size_t transmit(std::span<const nic::TxPacket> burst) override {
        std::size_t taken = 0;
        for (; taken < burst.size() && burst[taken].to != blocked_; ++taken) {
            const auto header = nic::read_header(burst[taken].header);
            if (!header || header->rank != 1) continue;
            if (header->type == nic::PacketType::welcome) welcomed_ = true;
            if (header->type == nic::PacketType::peer_lost) told_ = true;
        }
        return taken;
    }
    std::size_t receive(std::span<nic::RxPacket> burst) override {
        for (nic::RxPacket& packet : burst) {
            const std::size_t index = std::min(next_, joins_.size() - 1);
            packet = {endpoint_of(static_cast<unsigned>(index)), joins_[index], nullptr};
            ++next_;
        }
        return burst.size();
    }
    void release(std::span<const nic::RxPacket>) override {}
    void wait(std::chrono::microseconds) override {}
    std::unique_ptr<nic::MemoryRegion> register_memory(std::span<std::byte>) override {
        return nullptr;
    }
    nic::PortCounters counters() const override { return {}; }

  private:
    nic::PortInfo info_;
    std::vector<Bytes> joins_;
    std::size_t next_ = 0;
    nic::Endpoint blocked_;
    std::atomic<bool> welcomed_ = false;
    std::atomic<bool> told_ = false;
};

TEST(SaturatedLoop, ADestinationThatTakesNothingHoldsUpNoOther) {
    SaturatedPort port;
    port.block_rank_0();
    AggregatorLoop loop(port, options());
    std::jthread thread([&](const std::stop_token& stop) { loop.run(stop); });
    const Time deadline = steady_now() + 20s;
    while (!port.told() && steady_now() < deadline)
        std::this_thread::sleep_for(10ms);
    EXPECT_TRUE(port.welcomed());
    EXPECT_GE(loop.statistics().dropped_answers, 1U);
}

TEST(SaturatedLoop, NoticesSilentRanksThoughItsQueueIsNeverEmpty) {
    SaturatedPort port;
    AggregatorLoop loop(port, options());
    std::jthread thread([&](const std::stop_token& stop) { loop.run(stop); });
    const Time deadline = steady_now() + 20s;
    while (!port.told() && steady_now() < deadline)
        std::this_thread::sleep_for(10ms);
    EXPECT_TRUE(port.told());
}

class Loop : public testing::TestWithParam<nic::Polling> {};

TEST_P(Loop, ServesManyRoundsAndStopsCleanly) {
    auto port = open(1);
    AggregatorLoop::Options with_polling = options();
    with_polling.polling = GetParam();
    AggregatorLoop loop(*port, with_polling);
    std::jthread thread([&](const std::stop_token& stop) { loop.run(stop); });

    Client a(port->info().local);
    Client b(port->info().local);
    a.join(0, 2);
    ASSERT_TRUE(a.expect(nic::PacketType::waiting));
    b.join(1, 2);
    const auto welcome = a.expect(nic::PacketType::welcome);
    ASSERT_TRUE(welcome);
    ASSERT_TRUE(b.expect(nic::PacketType::welcome));
    for (std::uint32_t k = 0; k < 200; ++k) {
        nic::Header use = a.header(nic::PacketType::contribution, 0, welcome->header.session);
        use.op = nic::Op::add_i32;
        use.sequence = k;
        use.slot = static_cast<std::uint16_t>(k % 8);
        use.slot_version = k / 8 % 2 == 1;
        a.send(datagram(use, words({k, 1})));
        use.rank = 1;
        b.send(datagram(use, words({k, 2})));
        for (Client* client : {&a, &b}) {
            const auto result = client->expect(nic::PacketType::result);
            ASSERT_TRUE(result);
            EXPECT_EQ(result->header.sequence, k);
            EXPECT_EQ(to_words(result->payload), (std::vector<std::uint32_t>{2 * k, 3}));
        }
    }

    const LoopStatistics live = loop.statistics();
    EXPECT_EQ(live.aggregator.results, 200U);
    ASSERT_EQ(live.jobs.size(), 1U);
    EXPECT_EQ(live.jobs[0].name, "job");
    EXPECT_EQ(live.jobs[0].contributions, 400U);
    EXPECT_GE(live.port.rx_packets, 402U);
    EXPECT_EQ(live.dropped_answers, 0U);

    thread.request_stop();
    thread.join();
    EXPECT_EQ(loop.statistics().aggregator.results, 200U);
}

INSTANTIATE_TEST_SUITE_P(Pollings, Loop,
                         testing::Values(nic::Polling::automatic, nic::Polling::spin,
                                         nic::Polling::yield, nic::Polling::sleep));

#if defined(__x86_64__)
// 5 + 5 quanta of the smallest subnormal.
TEST(LoopArithmetic, SubnormalsAreAddedThoughTheProcessFlushesThem) {
    auto port = open(1);
    AggregatorLoop loop(*port, options());
    std::jthread thread([&](const std::stop_token& stop) {
        constexpr unsigned flush_to_zero_and_denormals_are_zero = 0x8040;
        const unsigned mine = _mm_getcsr() | flush_to_zero_and_denormals_are_zero;
        _mm_setcsr(mine);
        loop.run(stop);
        EXPECT_EQ(_mm_getcsr() & flush_to_zero_and_denormals_are_zero,
                  flush_to_zero_and_denormals_are_zero)
            << "the thread's own is back";
    });
    Client a(port->info().local);
    Client b(port->info().local);
    a.join(0, 2);
    b.join(1, 2);
    const auto welcome = a.expect(nic::PacketType::welcome);
    ASSERT_TRUE(welcome);
    nic::Header use = a.header(nic::PacketType::contribution, 0, welcome->header.session);
    use.op = nic::Op::add_f32;
    a.send(datagram(use, words({5})));
    use.rank = 1;
    b.send(datagram(use, words({5})));
    const auto result = a.expect(nic::PacketType::result);
    ASSERT_TRUE(result);
    EXPECT_EQ(to_words(result->payload), std::vector<std::uint32_t>{10});
}
#endif

TEST(LoopSetup, PayloadIsLoweredToThePort) {
    auto port = open(1, 1500);
    const AggregatorLoop loop(*port, options());
    // 1500 - 20 (IPv4) - 8 (UDP) - 22 = 1450, in steps of 64.
    EXPECT_EQ(loop.limits().payload_bytes, 1408);
}

TEST(LoopSetup, KnowsWhatThePortHolds) {
    SaturatedPort port(12'345);
    EXPECT_EQ(AggregatorLoop(port, options()).limits().receive_capacity, 12'345U);
}

TEST(LoopSetup, PortWithoutRoomForAPayload) {
    auto port = open(1, 28 + 22 + 63);
    EXPECT_THROW(AggregatorLoop(*port, options()), nic::SetupError);
}

TEST(LoopSetup, BadLimits) {
    auto port = open(1);
    AggregatorLoop::Options bad = options();
    bad.limits.slots_per_job = 3;
    EXPECT_THROW(AggregatorLoop(*port, bad), std::invalid_argument);
}

TEST(LoopStatisticsQuestion, BeforeAndAfterRunningDoesNotBlock) {
    auto port = open(1);
    AggregatorLoop loop(*port, options());
    EXPECT_EQ(loop.statistics().aggregator.datagrams, 0U);
    std::stop_source stop;
    stop.request_stop();
    loop.run(stop.get_token());
    EXPECT_EQ(loop.statistics().aggregator.datagrams, 0U);
}

TEST(LoopEnd, AfterTheLastJob) {
    auto port = open(1);
    AggregatorLoop::Options once = options();
    once.finish_after_last_job = true;
    std::vector<JobEvent::Kind> events;
    once.observer = [&](const JobEvent& event) { events.push_back(event.kind); };
    AggregatorLoop loop(*port, once);
    std::jthread thread([&](const std::stop_token& stop) { loop.run(stop); });
    Client a(port->info().local);
    a.join(0, 1);
    const auto welcome = a.expect(nic::PacketType::welcome);
    ASSERT_TRUE(welcome);
    a.send(datagram(a.header(nic::PacketType::leave, 0, welcome->header.session), {}));
    thread.join();
    EXPECT_EQ(events, (std::vector{JobEvent::Kind::started, JobEvent::Kind::finished}));
}

TEST(Embedded, FinishWaitsForTheLastRank) {
    EmbeddedAggregator embedded(open(1), options());
    Client a(embedded.port().local);
    Client b(embedded.port().local);
    a.join(0, 2);
    b.join(1, 2);
    const auto welcome = a.expect(nic::PacketType::welcome);
    ASSERT_TRUE(welcome);
    const std::uint64_t session = welcome->header.session;
    a.send(datagram(a.header(nic::PacketType::leave, 0, session), {}));
    std::jthread rank_1([&] {
        // Still served while rank 0 waits in finish.
        b.send(datagram(b.header(nic::PacketType::heartbeat, 1, session), {}));
        EXPECT_TRUE(b.expect(nic::PacketType::heartbeat));
        b.send(datagram(b.header(nic::PacketType::leave, 1, session), {}));
    });
    embedded.finish(20s);
    EXPECT_EQ(embedded.statistics().aggregator.jobs_finished, 1U);
}

TEST(Embedded, FinishIsNotHeldUpWhenNobodyCame) {
    EmbeddedAggregator embedded(open(1), options());
    const Time start = steady_now();
    embedded.finish(60s);
    EXPECT_LT(steady_now() - start, 30s);
}

TEST(Embedded, FinishGivesUpOnRanksThatStay) {
    EmbeddedAggregator embedded(open(1), options());
    Client a(embedded.port().local);
    a.join(0, 1);
    ASSERT_TRUE(a.expect(nic::PacketType::welcome));
    embedded.finish(10ms);
    EXPECT_EQ(embedded.statistics().jobs.size(), 1U);
}

TEST(Embedded, DestructionStopsAtOnce) {
    EmbeddedAggregator embedded(open(1), options());
    Client a(embedded.port().local);
    a.join(0, 2);
    ASSERT_TRUE(a.expect(nic::PacketType::waiting));
}

}  // namespace
}  // namespace sumwire::aggregator::test
