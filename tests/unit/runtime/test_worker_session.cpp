// The worker session against a scripted aggregator, in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "nic/control.h"
#include "nic/wire.h"
#include "runtime/session/worker_session.h"

namespace sumwire::runtime {
namespace {

using namespace std::chrono_literals;
using nic::PacketType;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t nonce = 0x1122334455667788;
constexpr std::uint64_t session_id = 0xabcdef0123456789;

struct Sent {
    nic::Header header;
    Bytes payload;
};

class Script : public testing::Test {
  protected:
    explicit Script(std::uint16_t payload = 128, std::uint16_t slots = 16) {
        config.join = {.nonce = nonce,
                       .rank = 1,
                       .world_size = 3,
                       .payload_bytes = payload,
                       .slots = slots,
                       .peer_timeout_ms = 2000,
                       .job = "job"};
        config.join_timeout = 5s;
        session.emplace(config, now);
    }

    std::vector<Sent> poll() {
        std::array<SessionPacket, 64> out;
        const std::size_t count = session->poll_transmit(now, out);
        std::vector<Sent> sent;
        for (std::size_t i = 0; i < count; ++i) {
            const auto header = nic::read_header(out[i].header);
            EXPECT_TRUE(header);
            sent.push_back({*header, Bytes(out[i].payload.begin(), out[i].payload.end())});
        }
        return sent;
    }

    void deliver(nic::Header header, const Bytes& payload, bool sealed = true) {
        Bytes datagram(nic::header_bytes + payload.size());
        const auto head = std::span(datagram).first<nic::header_bytes>();
        nic::write_header(header, head);
        if (sealed) nic::seal(head, payload);
        std::memcpy(datagram.data() + nic::header_bytes, payload.data(), payload.size());
        session->receive(datagram, now);
    }

    template <class Control>
    void deliver_control(PacketType type, const Control& control, std::uint64_t id = session_id,
                         std::uint16_t rank = 1) {
        Bytes payload(512);
        payload.resize(nic::write(control, payload));
        deliver({.type = type, .rank = rank, .session = id}, payload);
    }

    void welcome(std::uint16_t payload = 128, std::uint16_t slots = 16,
                 std::uint32_t peer_timeout_ms = 2000) {
        poll();
        deliver_control(PacketType::welcome, nic::Welcome{.nonce = nonce,
                                                          .answered_bytes = nic::header_bytes + 128,
                                                          .payload_bytes = payload,
                                                          .slots = slots,
                                                          .peer_timeout_ms = peer_timeout_ms});
        ASSERT_EQ(session->state(), WorkerSession::State::running);
    }

    void answer(const Sent& sent, int value, std::uint64_t id = session_id) {
        nic::Header header = sent.header;
        header.type = PacketType::result;
        header.session = id;
        deliver(header, Bytes(sent.payload.size(), static_cast<std::byte>(value)), false);
    }

    Time now = 1000s;
    SessionConfig config;
    std::optional<WorkerSession> session;
};

class WorkerSessionTest : public Script {};

TEST_F(WorkerSessionTest, JoinsWithPaddedAndUnpaddedAttemptsInTurn) {
    auto first = poll();
    ASSERT_EQ(first.size(), 1U);
    EXPECT_EQ(first[0].header.type, PacketType::join);
    EXPECT_EQ(first[0].payload.size(), 128U);
    const auto join = nic::read_join(first[0].payload);
    ASSERT_TRUE(join);
    EXPECT_EQ(join->nonce, nonce);
    EXPECT_EQ(join->rank, 1);
    EXPECT_EQ(join->job, "job");

    auto second = poll();
    ASSERT_EQ(second.size(), 1U);
    EXPECT_EQ(second[0].payload.size(), nic::Join::bytes);
    EXPECT_TRUE(poll().empty()) << "the next attempt has its time";
    now += 100ms;
    EXPECT_EQ(poll().size(), 1U);
}

TEST_F(WorkerSessionTest, IgnoresAWelcomeThatIsNotItsOwn) {
    poll();
    const nic::Welcome good{.nonce = nonce,
                            .answered_bytes = 150,
                            .payload_bytes = 128,
                            .slots = 16,
                            .peer_timeout_ms = 2000};
    auto other = good;
    other.nonce = 5;
    deliver_control(PacketType::welcome, other);
    EXPECT_EQ(session->state(), WorkerSession::State::joining) << "another process's";
    deliver_control(PacketType::welcome, good, session_id, 2);
    EXPECT_EQ(session->state(), WorkerSession::State::joining) << "another rank's";
    other = good;
    other.payload_bytes = 4096;
    deliver_control(PacketType::welcome, other);
    EXPECT_EQ(session->state(), WorkerSession::State::joining) << "more than was asked for";
    other = good;
    other.slots = 6;
    deliver_control(PacketType::welcome, other);
    EXPECT_EQ(session->state(), WorkerSession::State::joining) << "slots are no power of two";
    deliver_control(PacketType::welcome, good);
    EXPECT_EQ(session->state(), WorkerSession::State::running);
}

TEST_F(WorkerSessionTest, TellsASmallPathFromAnAbsentAggregator) {
    poll();
    const nic::Welcome small{.nonce = nonce,
                             .answered_bytes = nic::header_bytes + nic::Join::bytes,
                             .payload_bytes = 128,
                             .slots = 16,
                             .peer_timeout_ms = 2000};
    deliver_control(PacketType::welcome, small);
    EXPECT_EQ(session->state(), WorkerSession::State::joining);
    EXPECT_EQ(poll().at(0).payload.size(), 128U) << "asks whether large ones pass";
    now += 4s;
    poll();
    ASSERT_EQ(session->state(), WorkerSession::State::failed);
    EXPECT_EQ(session->failure().kind, SessionFailure::Kind::path_mtu);
    EXPECT_THAT(session->failure().text, testing::HasSubstr("MTU"));
}

TEST_F(WorkerSessionTest, SaysThatNobodyAnswered) {
    poll();
    now += 6s;
    poll();
    ASSERT_EQ(session->state(), WorkerSession::State::failed);
    EXPECT_EQ(session->failure().kind, SessionFailure::Kind::no_answer);
}

TEST_F(WorkerSessionTest, JoinsForeverIfToldTo) {
    config.join_timeout = std::chrono::milliseconds::max();
    session.emplace(config, now);
    for (int i = 0; i < 100; ++i) {
        poll();
        now += 1h;
        ASSERT_EQ(session->state(), WorkerSession::State::joining);
    }
}

TEST_F(WorkerSessionTest, SaysWhichRankIsMissing) {
    poll();
    deliver_control(
        PacketType::waiting,
        nic::Waiting{.nonce = nonce, .answered_bytes = 150, .joined = 2, .missing_rank = 2});
    now += 6s;
    poll();
    ASSERT_EQ(session->state(), WorkerSession::State::failed);
    EXPECT_EQ(session->failure().kind, SessionFailure::Kind::ranks_missing);
    EXPECT_EQ(session->failure().rank, 2U);
    EXPECT_THAT(session->failure().text, testing::HasSubstr("rank 2"));
}

TEST_F(WorkerSessionTest, PassesOnARefusal) {
    poll();
    deliver_control(
        PacketType::refused,
        nic::Refused{.nonce = nonce, .code = nic::Refusal::rank_taken, .text = "rank 1 is taken"},
        0);
    ASSERT_EQ(session->state(), WorkerSession::State::failed);
    EXPECT_EQ(session->failure().kind, SessionFailure::Kind::refused);
    EXPECT_EQ(session->failure().text, "rank 1 is taken");
}

TEST_F(WorkerSessionTest, CarriesAMessageAndHandsBackItsToken) {
    welcome();
    Bytes message(200, std::byte{3});
    ASSERT_TRUE(session->post(1, {.op = nic::Op::add_i32, .bytes = message, .token = 42}));
    const auto sent = poll();
    ASSERT_EQ(sent.size(), 2U);
    for (const Sent& packet : sent) {
        EXPECT_EQ(packet.header.type, PacketType::contribution);
        EXPECT_EQ(packet.header.session, session_id);
        EXPECT_EQ(packet.header.rank, 1);
        EXPECT_EQ(packet.header.op, nic::Op::add_i32);
    }
    EXPECT_EQ(sent[0].header.slot, 4) << "lane 1 begins after the first quarter";
    EXPECT_FALSE(session->take_completed());
    answer(sent[0], 8);
    answer(sent[1], 9);
    EXPECT_EQ(session->take_completed(), 42U);
    EXPECT_FALSE(session->take_completed());
    EXPECT_EQ(message.front(), std::byte{8});
    EXPECT_EQ(message.back(), std::byte{9});
}

TEST_F(WorkerSessionTest, IgnoresResultsOfAnotherSession) {
    welcome();
    Bytes message(64, std::byte{3});
    session->post(0, {.op = nic::Op::add_i32, .bytes = message, .token = 1});
    const auto sent = poll();
    answer(sent.at(0), 8, session_id + 1);
    EXPECT_FALSE(session->take_completed());
    EXPECT_EQ(message.front(), std::byte{3});
}

TEST_F(WorkerSessionTest, SendsAgainWithGrowingPauses) {
    welcome();
    Bytes message(64, std::byte{3});
    session->post(0, {.op = nic::Op::add_i32, .bytes = message, .token = 1});
    const auto original = poll();
    ASSERT_EQ(original.size(), 1U);

    std::vector<Time> times;
    const Time start = now;
    while (now - start < 1500ms) {
        now += 1ms;
        deliver({.type = PacketType::heartbeat, .rank = 1, .session = session_id}, {});
        for (const Sent& packet : poll()) {
            if (packet.header.type != PacketType::contribution) continue;
            EXPECT_EQ(packet.payload, original[0].payload);
            EXPECT_EQ(packet.header.sequence, original[0].header.sequence);
            times.push_back(now - start);
        }
    }
    ASSERT_GE(times.size(), 4U);
    EXPECT_LE(times.size(), 12U) << "pauses grow";
    EXPECT_GE(times[2] - times[1], times[1] - times[0]);
    EXPECT_EQ(session->retransmissions(), times.size());
    answer(original[0], 5);
    EXPECT_EQ(session->take_completed(), 1U);
}

TEST_F(WorkerSessionTest, SendsAPacketAgainAtOnceWhenLaterOnesOvertakeIt) {
    welcome();
    Bytes warm(64);
    for (int i = 0; i < 20; ++i) {  // teaches the round trip: 1 ms
        session->post(0, {.op = nic::Op::add_i32, .bytes = warm, .token = 0});
        const auto sent = poll();
        now += 1ms;
        answer(sent.at(0), 1);
        session->take_completed();
    }
    Bytes lost(64);
    Bytes later(64);
    session->post(1, {.op = nic::Op::add_i32, .bytes = lost, .token = 1});
    const auto first = poll();
    now += 1ms;
    session->post(1, {.op = nic::Op::add_i32, .bytes = later, .token = 2});
    const auto second = poll();
    now += 1ms;
    answer(second.at(0), 1);
    const auto again = poll();
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].header.sequence, first.at(0).header.sequence);
}

TEST_F(WorkerSessionTest, EveryLaneGoesOnHoweverFullTheWindowIs) {
    welcome(128, 16);
    Bytes large(128 * 8);
    Bytes other(128);
    session->post(1, {.op = nic::Op::add_i32, .bytes = large, .token = 1});
    poll();
    session->post(0, {.op = nic::Op::bit_or, .bytes = other, .token = 2});
    session->post(2, {.op = nic::Op::add_i32, .bytes = other, .token = 3});
    EXPECT_EQ(poll().size(), 2U);
}

TEST_F(WorkerSessionTest, KnowsWhomTheAggregatorWaitsFor) {
    welcome();
    Bytes message(64);
    session->post(0, {.op = nic::Op::add_i32, .bytes = message, .token = 1});
    const auto sent = poll();
    nic::Header header = sent.at(0).header;
    header.type = PacketType::pending;
    Bytes payload(nic::Pending::bytes);
    nic::write(nic::Pending{.present = 2, .missing_rank = 2}, payload);
    deliver(header, payload);
    ASSERT_TRUE(session->missing_rank());
    EXPECT_EQ(session->missing_rank()->rank, 2U);
    answer(sent[0], 1);
    EXPECT_FALSE(session->missing_rank()) << "its result is here";
}

TEST_F(WorkerSessionTest, SendsAtOnceWhatTheAggregatorMisses) {
    welcome();
    Bytes message(192);  // two packets
    session->post(0, {.op = nic::Op::add_i32, .bytes = message, .token = 1});
    const auto sent = poll();
    ASSERT_EQ(sent.size(), 2U);
    now += 4ms;
    answer(sent[1], 1);
    Bytes payload(nic::Pending::bytes);
    nic::write(nic::Pending{.present = 2, .missing_rank = 1}, payload);
    const auto remind = [&](std::uint32_t sequence) {
        nic::Header header = sent[0].header;
        header.type = PacketType::pending;
        header.sequence = sequence;
        deliver(header, payload);
    };
    const std::uint32_t sequence = sent[0].header.sequence;
    remind(sequence - 16);
    EXPECT_TRUE(poll().empty()) << "an old use";
    remind(sequence);
    remind(sequence);
    EXPECT_EQ(session->next_deadline(), Time::zero());
    const auto again = poll();
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].header.sequence, sequence);
    EXPECT_FALSE(session->missing_rank()) << "it is this rank itself";
    now += 3ms;
    remind(sequence);
    EXPECT_TRUE(poll().empty()) << "less than a round trip ago: it may still arrive";
    now += 1ms;
    remind(sequence);
    answer(sent[0], 1);
    EXPECT_TRUE(poll().empty()) << "its result came first";
    EXPECT_EQ(session->take_completed(), 1U);
}

TEST_F(WorkerSessionTest, FailsWhenAPeerIsLost) {
    welcome();
    deliver_control(PacketType::peer_lost, nic::PeerLostNotice{.rank = 2, .left = false});
    ASSERT_EQ(session->state(), WorkerSession::State::failed);
    EXPECT_EQ(session->failure().kind, SessionFailure::Kind::peer_lost);
    EXPECT_EQ(session->failure().rank, 2U);
}

TEST_F(WorkerSessionTest, FailsAtOnceWhenTheAggregatorCloses) {
    welcome();
    const nic::Header closing{.type = PacketType::closing, .rank = 1, .session = session_id};
    deliver(closing, {}, false);
    EXPECT_EQ(session->state(), WorkerSession::State::running) << "nothing seals it";
    nic::Header other = closing;
    other.session = session_id + 1;
    deliver(other, {});
    EXPECT_EQ(session->state(), WorkerSession::State::running) << "another session's";
    deliver(closing, {});
    ASSERT_EQ(session->state(), WorkerSession::State::failed);
    EXPECT_EQ(session->failure().kind, SessionFailure::Kind::aggregator_lost);
    EXPECT_NE(session->failure().text.find("shut down"), std::string::npos);
}

TEST_F(WorkerSessionTest, FailsAtOnceWhenAnotherRankSentSomethingElse) {
    welcome();
    Bytes message(64);
    session->post(0, {.op = nic::Op::add_i32, .bytes = message, .token = 1});
    nic::Header header = poll().at(0).header;
    header.type = PacketType::contradiction;
    Bytes payload(nic::Contradiction::bytes);
    nic::write(
        nic::Contradiction{
            .other_rank = 2, .other_bytes = 40, .own_bytes = 64, .other_op = nic::Op::bit_or},
        payload);
    nic::Header old = header;
    old.sequence -= 16;
    deliver(old, payload);
    EXPECT_EQ(session->state(), WorkerSession::State::running) << "of a use that is over";
    deliver(header, payload);
    ASSERT_EQ(session->state(), WorkerSession::State::failed);
    EXPECT_EQ(session->failure().kind, SessionFailure::Kind::contradiction);
    EXPECT_EQ(session->failure().rank, 2U);
    for (const char* part : {"rank 2", "bitwise or of 40 bytes", "sum of integers of 64 bytes",
                             "same collectives in the same order"}) {
        EXPECT_THAT(session->failure().text, testing::HasSubstr(part));
    }
}

TEST_F(WorkerSessionTest, BeatsWhileIdle) {
    welcome();
    int beats = 0;
    const Time start = now;
    while (now - start < 10s) {
        now += 10ms;
        for (const Sent& packet : poll()) {
            if (packet.header.type != PacketType::heartbeat) continue;
            ++beats;
            deliver(packet.header, {});
        }
    }
    EXPECT_EQ(session->state(), WorkerSession::State::running);
    EXPECT_NEAR(beats, 40, 2) << "every 250 ms for 10 s";
}

TEST_F(WorkerSessionTest, BeatsOftenerOnceUnansweredAndNoticesASilentAggregator) {
    welcome();
    int beats = 0;
    const Time start = now;
    while (session->state() == WorkerSession::State::running && now - start < 10s) {
        now += 10ms;
        for (const Sent& packet : poll()) {
            beats += packet.header.type == PacketType::heartbeat ? 1 : 0;
        }
    }
    EXPECT_EQ(session->failure().kind, SessionFailure::Kind::aggregator_lost);
    EXPECT_GE(beats, 20);
    EXPECT_LE(beats, 30);
    EXPECT_GE(now - start, 2s);
    EXPECT_LE(now - start, 2100ms);
}

TEST_F(WorkerSessionTest, BeatsFourTimesInTheShortestPeerTimeout) {
    welcome(128, 16, nic::min_peer_timeout_ms);
    int beats = 0;
    const Time start = now;
    while (now - start < 5s) {
        now += 1ms;
        for (const Sent& packet : poll()) {
            if (packet.header.type != PacketType::heartbeat) continue;
            ++beats;
            deliver(packet.header, {});
        }
    }
    EXPECT_NEAR(beats, 40, 1) << "every 125 ms";
}

TEST_F(WorkerSessionTest, RejectsAPeerTimeoutThatAFewLossesExceed) {
    config.join.peer_timeout_ms = nic::min_peer_timeout_ms - 1;
    EXPECT_THROW(WorkerSession(config, now), std::invalid_argument);
}

TEST_F(WorkerSessionTest, SaysFarewell) {
    welcome();
    session->leave();
    const auto sent = poll();
    ASSERT_FALSE(sent.empty());
    EXPECT_EQ(sent[0].header.type, PacketType::leave);
    EXPECT_EQ(sent[0].header.session, session_id);
    EXPECT_TRUE(poll().empty());
    EXPECT_FALSE(session->gone());
    now += 50ms;
    EXPECT_EQ(poll().size(), 1U) << "again, until it is answered";
    deliver({.type = PacketType::leave, .rank = 1, .session = session_id}, {});
    EXPECT_TRUE(session->gone());
    now += 50ms;
    EXPECT_TRUE(poll().empty());
}

TEST_F(WorkerSessionTest, DropsDamagedPackets) {
    poll();
    deliver_control(PacketType::welcome, nic::Welcome{.nonce = nonce,
                                                      .answered_bytes = 150,
                                                      .payload_bytes = 128,
                                                      .slots = 16,
                                                      .peer_timeout_ms = 2000,
                                                      .checksums = true});
    ASSERT_EQ(session->state(), WorkerSession::State::running);
    Bytes message(64, std::byte{3});
    session->post(0, {.op = nic::Op::add_i32, .bytes = message, .token = 1});
    const auto sent = poll();

    nic::Header header = sent.at(0).header;
    header.type = PacketType::result;
    Bytes datagram(nic::header_bytes + 64, std::byte{9});
    const auto head = std::span(datagram).first<nic::header_bytes>();
    nic::write_header(header, head);
    session->receive(datagram, now);
    EXPECT_FALSE(session->take_completed()) << "no checksum, though they were agreed on";
    nic::seal(head, std::span(datagram).subspan(nic::header_bytes));
    datagram.back() ^= std::byte{1};
    session->receive(datagram, now);
    EXPECT_FALSE(session->take_completed()) << "a flipped bit";
    datagram.back() ^= std::byte{1};
    session->receive(datagram, now);
    EXPECT_EQ(session->take_completed(), 1U);
}

}  // namespace
}  // namespace sumwire::runtime
