// Scripted contributions, labelled, with answers computed by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <numeric>

#include "script.h"

namespace sumwire::aggregator::test {
namespace {

using nic::Op;
using nic::PacketType;

// Each rank is answered with this result, in rank order.
void expect_results(const std::vector<Answer>& answers, const Job& job, const nic::Header& use,
                    const Bytes& payload) {
    ASSERT_EQ(answers.size(), job.world_size());
    for (std::uint16_t rank = 0; rank < job.world_size(); ++rank) {
        const Answer& answer = answers[rank];
        EXPECT_EQ(answer.to, job.endpoint(rank));
        EXPECT_EQ(answer.header.type, PacketType::result);
        EXPECT_EQ(answer.header.op, use.op);
        EXPECT_EQ(answer.header.rank, rank);
        EXPECT_EQ(answer.header.session, job.session());
        EXPECT_EQ(answer.header.sequence, use.sequence);
        EXPECT_EQ(answer.header.slot, use.slot);
        EXPECT_EQ(answer.header.slot_version, use.slot_version);
        EXPECT_EQ(answer.payload, payload);
    }
}

// The offender is told what the first rank had sent, and the first rank what the offender sent.
void expect_contradiction(const std::vector<Answer>& answers, const nic::Header& first,
                          std::uint16_t first_bytes, const nic::Header& offender,
                          std::uint16_t offender_bytes) {
    ASSERT_EQ(answers.size(), 2U);
    const auto expect_told = [](const Answer& answer, const nic::Header& own,
                                std::uint16_t own_bytes, const nic::Header& other,
                                std::uint16_t other_bytes) {
        EXPECT_EQ(answer.to, endpoint_of(own.rank));
        EXPECT_EQ(answer.header.type, PacketType::contradiction);
        EXPECT_EQ(answer.header.rank, own.rank);
        EXPECT_EQ(answer.header.op, own.op);
        EXPECT_EQ(answer.header.slot, own.slot);
        EXPECT_EQ(answer.header.sequence, own.sequence);
        EXPECT_EQ(answer.checksum, nic::Checksum::right);
        const auto contradiction = nic::read_contradiction(answer.payload);
        ASSERT_TRUE(contradiction.has_value());
        EXPECT_EQ(contradiction->other_rank, other.rank);
        EXPECT_EQ(contradiction->other_op, other.op);
        EXPECT_EQ(contradiction->other_bytes, other_bytes);
        EXPECT_EQ(contradiction->own_bytes, own_bytes);
    };
    expect_told(answers[0], offender, offender_bytes, first, first_bytes);
    expect_told(answers[1], first, first_bytes, offender, offender_bytes);
}

class TwoRanks : public testing::Test {
  protected:
    nic::Header header(std::uint16_t rank, bool version = false, std::uint32_t sequence = 5) {
        return job.header(rank, 5, version, sequence);
    }
    // Completes one use of slot 5 with the sum 3.
    void complete(bool version, std::uint32_t sequence) {
        EXPECT_TRUE(job.contribute(header(0, version, sequence), words({1})).empty());
        expect_results(job.contribute(header(1, version, sequence), words({2})), job,
                       header(0, version, sequence), words({3}));
    }
    // That a contribution changed nothing: slot 5's use still completes to the hand-computed sum.
    void expect_still_completes_to(std::uint32_t sum, std::uint32_t second, bool version = false,
                                   std::uint32_t sequence = 5) {
        expect_results(job.contribute(header(1, version, sequence), words({second})), job,
                       header(1, version, sequence), words({sum}));
    }

    Script script;
    Job job{script, 2};
};

TEST_F(TwoRanks, FirstThenLastGivesTheSum) {
    EXPECT_TRUE(job.contribute(header(0), words({1, 0xffffffff})).empty());
    expect_results(job.contribute(header(1), words({2, 2})), job, header(1), words({3, 1}));
    const Statistics statistics = script.statistics();
    EXPECT_EQ(statistics.contributions, 2U);
    EXPECT_EQ(statistics.payload_bytes, 16U);
    EXPECT_EQ(statistics.results, 1U);
    EXPECT_EQ(statistics.malformed, 0U);
}

TEST_F(TwoRanks, EmptyPayloadIsABarrier) {
    EXPECT_TRUE(job.contribute(header(1), {}).empty());
    expect_results(job.contribute(header(0), {}), job, header(0), {});
}

TEST_F(TwoRanks, DuplicateOfPartialIsAnsweredPending) {
    job.contribute(header(0), words({1}));
    // Rank 0, who asked, and rank 1, who is missing, learn the same.
    const auto answers = job.contribute(header(0), words({1}));
    ASSERT_EQ(answers.size(), 2U);
    for (std::uint16_t rank = 0; rank < 2; ++rank) {
        EXPECT_EQ(answers[rank].to, job.endpoint(rank));
        EXPECT_EQ(answers[rank].header.type, PacketType::pending);
        EXPECT_EQ(answers[rank].header.rank, rank);
        EXPECT_EQ(answers[rank].header.sequence, 5U);
        EXPECT_EQ(answers[rank].header.slot, 5);
        const auto pending = nic::read_pending(answers[rank].payload);
        ASSERT_TRUE(pending.has_value());
        EXPECT_EQ(pending->present, 1);
        EXPECT_EQ(pending->missing_rank, 1);
    }
    EXPECT_EQ(script.statistics().duplicates, 1U);
    expect_still_completes_to(3, 2);
}

TEST_F(TwoRanks, DuplicateOfCompleteGetsTheResultAlone) {
    complete(false, 5);
    const auto answers = job.contribute(header(1), words({2}));
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].to, job.endpoint(1));
    EXPECT_EQ(answers[0].header.type, PacketType::result);
    EXPECT_EQ(answers[0].payload, words({3}));
    EXPECT_EQ(script.statistics().duplicates, 1U);
}

TEST_F(TwoRanks, DuplicateOfCompleteWhileTheOtherVersionIsOpen) {
    complete(false, 5);
    job.contribute(header(0, true, 13), words({10}));
    const auto answers = job.contribute(header(1), words({2}));
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].payload, words({3}));
    expect_still_completes_to(11, 1, true, 13);
}

TEST_F(TwoRanks, PastUseIsStale) {
    complete(false, 5);
    complete(true, 13);
    job.contribute(header(0, false, 21), words({1}));
    EXPECT_TRUE(job.contribute(header(1, false, 5), words({2})).empty());
    EXPECT_EQ(script.statistics().stale, 1U);
    expect_still_completes_to(8, 7, false, 21);
}

TEST_F(TwoRanks, FutureUseOfAnOpenVersionIsPremature) {
    job.contribute(header(0), words({1}));
    EXPECT_TRUE(job.contribute(header(1, false, 21), words({2})).empty());
    EXPECT_EQ(script.statistics().malformed, 1U);
    expect_still_completes_to(5, 4);
}

TEST_F(TwoRanks, NextVersionWhileThisOneIsOpenIsPremature) {
    job.contribute(header(0), words({1}));
    EXPECT_TRUE(job.contribute(header(1, true, 13), words({2})).empty());
    EXPECT_EQ(script.statistics().malformed, 1U);
    expect_still_completes_to(5, 4);
}

TEST_F(TwoRanks, NextVersionAfterCompletion) {
    complete(false, 5);
    complete(true, 13);
    complete(false, 21);
}

TEST_F(TwoRanks, SequenceWrapsAround) {
    complete(false, 0xfffffff8);
    complete(true, 0);
    complete(false, 8);
    EXPECT_TRUE(job.contribute(header(0, false, 0xfffffff8), words({1})).empty());
    EXPECT_EQ(script.statistics().stale, 1U);
}

TEST_F(TwoRanks, StrangersAddress) {
    job.contribute(header(0), words({1}));
    nic::Endpoint other_port = job.endpoint(1);
    ++other_port.port;
    nic::Endpoint other_link = job.endpoint(1);
    ++other_link.link;
    for (const nic::Endpoint& from : {other_port, other_link, job.endpoint(0)})
        EXPECT_TRUE(script.send(from, datagram(header(1), words({2}))).empty());
    EXPECT_EQ(script.statistics().strangers, 3U);
    expect_still_completes_to(5, 4);
}

TEST_F(TwoRanks, WrongSession) {
    job.contribute(header(0), words({1}));
    for (const std::uint64_t session : {std::uint64_t{0}, job.session() ^ (std::uint64_t{1} << 40U),
                                        job.session() ^ 1U, ~job.session()}) {
        nic::Header wrong = header(1);
        wrong.session = session;
        EXPECT_TRUE(job.contribute(wrong, words({2})).empty());
    }
    EXPECT_EQ(script.statistics().strangers, 4U);
    expect_still_completes_to(5, 4);
}

TEST_F(TwoRanks, RankOutOfRange) {
    nic::Header wrong = header(2);
    EXPECT_TRUE(script.send(job.endpoint(1), datagram(wrong, words({2}))).empty());
    EXPECT_EQ(script.statistics().strangers, 1U);
}

TEST_F(TwoRanks, SlotOutOfRange) {
    ASSERT_EQ(job.welcome().slots, 8);
    nic::Header wrong = header(1);
    wrong.slot = 8;
    EXPECT_TRUE(job.contribute(wrong, words({2})).empty());
    EXPECT_EQ(script.statistics().malformed, 1U);
}

TEST_F(TwoRanks, PayloadTooLong) {
    EXPECT_TRUE(job.contribute(header(0), Bytes(1028)).empty());
    EXPECT_EQ(script.statistics().malformed, 1U);
    EXPECT_TRUE(job.contribute(header(0), Bytes(1024)).empty());
    EXPECT_EQ(script.statistics().malformed, 1U);
}

TEST_F(TwoRanks, PayloadOfHalfAWord) {
    EXPECT_TRUE(job.contribute(header(0), Bytes(6)).empty());
    EXPECT_EQ(script.statistics().malformed, 1U);
}

TEST_F(TwoRanks, LengthsThatDisagree) {
    job.contribute(header(0), words({1}));
    expect_contradiction(job.contribute(header(1), words({2, 3})), header(0), 4, header(1), 8);
    expect_contradiction(job.contribute(header(1), {}), header(0), 4, header(1), 0);
    EXPECT_EQ(script.statistics().malformed, 2U);
    expect_still_completes_to(5, 4);
}

TEST_F(TwoRanks, OpsThatDisagree) {
    job.contribute(header(0), words({1}));
    nic::Header other = header(1);
    other.op = Op::bit_or;
    expect_contradiction(job.contribute(other, words({2})), header(0), 4, other, 4);
    EXPECT_EQ(script.statistics().malformed, 1U);
    expect_still_completes_to(5, 4);
}

TEST(Datapath, EveryRankThatAsksAgainLearnsOfAContradiction) {
    Script script;
    Job job(script, 3);
    const auto use = [&](std::uint16_t rank) { return job.header(rank, 5, false, 5); };
    job.contribute(use(0), words({1}));
    job.contribute(use(1), words({1}));
    job.contribute(use(2), words({1, 2}));
    for (const std::uint16_t rank : {0, 1}) {
        const auto answers = job.contribute(use(rank), words({1}));
        ASSERT_EQ(answers.size(), 1U);
        EXPECT_EQ(answers[0].header.type, PacketType::contradiction);
        const auto contradiction = nic::read_contradiction(answers[0].payload);
        ASSERT_TRUE(contradiction.has_value());
        EXPECT_EQ(contradiction->other_rank, 2);
        EXPECT_EQ(contradiction->other_bytes, 8);
        EXPECT_EQ(contradiction->own_bytes, 4);
    }
}

TEST_F(TwoRanks, OpSwitchedByADuplicate) {
    complete(false, 5);
    nic::Header other = header(0);
    other.op = Op::max_u8;
    expect_contradiction(job.contribute(other, words({2})), header(1), 4, other, 4);
    EXPECT_EQ(script.statistics().malformed, 1U);
}

TEST_F(TwoRanks, OpsThatAreNone) {
    nic::Header none = header(0);
    none.op = Op::none;
    EXPECT_TRUE(job.contribute(none, words({1})).empty());
    nic::Header unannounced = header(0);
    unannounced.op = Op::add_f32;  // the job joined without float sums
    EXPECT_TRUE(job.contribute(unannounced, floats({1})).empty());
    EXPECT_EQ(script.statistics().malformed, 2U);
    job.contribute(header(0), words({1}));
    expect_still_completes_to(5, 4);
}

TEST_F(TwoRanks, WrongChecksumIsDroppedRightOneIsTaken) {
    Bytes damaged = datagram(header(0), words({1}), true);
    damaged.back() ^= std::byte{1};
    EXPECT_TRUE(script.send(job.endpoint(0), damaged).empty());
    EXPECT_EQ(script.statistics().malformed, 1U);
    EXPECT_TRUE(job.contribute(header(0), words({1}), true).empty());
    expect_still_completes_to(5, 4);
}

TEST_F(TwoRanks, AggregatorsOwnPacketTypes) {
    for (const PacketType type : {PacketType::result, PacketType::pending, PacketType::waiting,
                                  PacketType::welcome, PacketType::refused, PacketType::peer_lost,
                                  PacketType::contradiction, PacketType::closing}) {
        nic::Header reflected = header(0);
        reflected.type = type;
        EXPECT_TRUE(job.contribute(reflected, words({1})).empty());
    }
    EXPECT_EQ(script.statistics().malformed, 8U);
}

TEST_F(TwoRanks, Garbage) {
    const Bytes good = datagram(header(0), words({1}));
    for (std::size_t length = 0; length < nic::header_bytes; ++length)
        EXPECT_TRUE(
            script.send(job.endpoint(0), Bytes(good.begin(), good.begin() + length)).empty());
    Bytes other_version = good;
    other_version[0] = std::byte{0x21};
    EXPECT_TRUE(script.send(job.endpoint(0), other_version).empty());
    EXPECT_TRUE(script.send(job.endpoint(0), Bytes(70'000, std::byte{0x11})).empty());
    EXPECT_EQ(script.statistics().malformed, nic::header_bytes + 2);
    EXPECT_EQ(script.statistics().contributions, 0U);
}

TEST_F(TwoRanks, HeartbeatIsAnswered) {
    const auto answers = job.heartbeat(1);
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].to, job.endpoint(1));
    EXPECT_EQ(answers[0].header.type, PacketType::heartbeat);
    EXPECT_EQ(answers[0].header.rank, 1);
    EXPECT_EQ(answers[0].header.session, job.session());
}

TEST(Datapath, ChecksummedJobWantsAndGivesChecksums) {
    Script script;
    Job job(script, 2, {.checksums = true});
    EXPECT_TRUE(job.welcome().checksums);
    const nic::Header use = job.header(0, 0, false, 0);
    EXPECT_TRUE(job.contribute(use, words({1})).empty());
    EXPECT_EQ(script.statistics().malformed, 1U);  // unsealed
    EXPECT_TRUE(job.contribute(use, words({1}), true).empty());
    for (const Answer& answer : job.contribute(use, words({1}), true))
        EXPECT_EQ(answer.checksum, nic::Checksum::right);  // pending
    const auto results = job.contribute(job.header(1, 0, false, 0), words({2}), true);
    expect_results(results, job, use, words({3}));
    for (const Answer& answer : results)
        EXPECT_EQ(answer.checksum, nic::Checksum::right);
}

TEST(Datapath, ResultsThatAreAskedForAgainHaveTheChecksumOfTheirOwnUse) {
    Script script;
    Job job(script, 2, {.checksums = true});
    for (const bool version : {false, true}) {
        for (const std::uint16_t rank : {0, 1}) {
            job.contribute(job.header(rank, 0, version, version ? 8 : 0),
                           words({rank + (version ? 100U : 1U)}), true);
        }
    }
    for (const bool version : {false, true}) {
        const auto answers = job.contribute(job.header(1, 0, version, version ? 8 : 0),
                                            words({version ? 101U : 2U}), true);
        ASSERT_EQ(answers.size(), 1U);
        EXPECT_EQ(answers[0].payload, words({version ? 201U : 3U}));
        EXPECT_EQ(answers[0].checksum, nic::Checksum::right);
    }
}

TEST(Datapath, OneRankIsItsOwnSum) {
    Script script;
    Job job(script, 1, {.float_sums = true});
    const nic::Header use = job.header(0, 3, false, 3, Op::add_f32);
    expect_results(job.contribute(use, floats({1.5F})), job, use, floats({1.5F}));
    const nic::Header next = job.header(0, 3, true, 11, Op::max_u8);
    expect_results(job.contribute(next, Bytes(3, std::byte{9})), job, next, Bytes(3, std::byte{9}));
}

class WorldSize : public testing::TestWithParam<std::uint16_t> {};

// Rank r adds r + 1: the sum is w (w + 1) / 2. The last rank arrives first, and pending names the
// lowest missing rank all along.
TEST_P(WorldSize, SumsAndNamesTheLowestMissing) {
    const std::uint16_t world = GetParam();
    Script script;
    Job job(script, world, {.payload_bytes = 64, .slots = 8});
    for (std::uint32_t round = 0; round < 4; ++round) {
        const auto use = [&](std::uint16_t rank) {
            return job.header(rank, 1, round % 2 == 1, 1 + 8 * round);
        };
        std::vector<std::uint16_t> order(world);
        std::iota(order.begin(), order.end(), std::uint16_t{0});
        std::rotate(order.begin(), order.end() - 1, order.end());
        for (std::size_t i = 0; i + 1 < order.size(); ++i) {
            const std::uint32_t value = order[i] + 1U;
            ASSERT_TRUE(job.contribute(use(order[i]), words({value, round})).empty());
            const auto answers = job.contribute(use(order[i]), words({value, round}));
            // Where most are there, the lowest four that are missing are reminded.
            const std::size_t missing = order.size() - 1 - i;
            const std::size_t reminded =
                2 * (i + 1) < world ? 0 : std::min<std::size_t>(missing, 4);
            ASSERT_EQ(answers.size(), 1 + reminded);
            for (std::size_t a = 0; a < answers.size(); ++a) {
                const auto pending = nic::read_pending(answers[a].payload);
                ASSERT_TRUE(pending.has_value());
                EXPECT_EQ(pending->present, i + 1);
                EXPECT_EQ(pending->missing_rank, i + (a == 0 ? 0 : a - 1));
                if (a != 0) {
                    EXPECT_EQ(answers[a].header.rank, pending->missing_rank);
                }
            }
        }
        const std::uint32_t last = order.back() + 1U;
        expect_results(job.contribute(use(order.back()), words({last, round})), job, use(0),
                       words({world * (world + 1U) / 2, world * round}));
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, WorldSize, testing::Values(1, 2, 33, 64, 65, 1024));

// Every arrival order of four ranks, for every op, with sums that depend on the order of additions:
// ((2^24 + 1) + 1) + -2^24 is 0 in float32, ((1 + 1) + 2^24) + -2^24 is 2.
TEST(Datapath, AllArrivalOrdersOfFourRanks) {
    Script script;
    Job job(script, 4, {.float_sums = true});
    EXPECT_TRUE(job.welcome().float_sums);
    const float big = 16777216.0F;
    struct Case {
        Op op;
        std::array<Bytes, 4> payloads;
        Bytes sum;
    };
    const std::array<Case, 7> cases{{
        {Op::add_f32,
         {floats({big, 1}), floats({1, 1}), floats({1, big}), floats({-big, -big})},
         floats({0, 2})},
        {Op::add_f32,
         {floats({0.1F}), floats({0.2F}), floats({0.3F}), floats({0.4F})},
         floats({((0.1F + 0.2F) + 0.3F) + 0.4F})},
        {Op::add_i32,
         {words({1, 0x80000000}), words({2, 0x80000000}), words({3, 5}), words({4, 0})},
         words({10, 5})},
        {Op::bit_or,
         {words({1}), words({2}), words({0x80000000}), words({3})},
         words({0x80000003})},
        {Op::max_u8,
         {words({0x01020304}), words({0x04030201}), words({0x00ff0000}), words({0x00000080})},
         words({0x04ff0380})},
        // 0x1p53 + 1 - 0x1p53 + 1: 1 if added in rank order, in doubles.
        {Op::add_f64,
         {words({0, 0x43400000}), words({0, 0x3ff00000}), words({0, 0xc3400000}),
          words({0, 0x3ff00000})},
         words({0, 0x3ff00000})},
        {Op::add_i64,
         {words({0xffffffff, 0}), words({1, 0}), words({0, 0}), words({5, 7})},
         words({5, 8})},
    }};
    std::uint32_t round = 0;
    for (const Case& c : cases) {
        std::array<std::uint16_t, 4> order{0, 1, 2, 3};
        do {
            const auto use = [&](std::uint16_t rank) {
                return job.header(rank, 2, round % 2 == 1, 2 + 8 * round, c.op);
            };
            std::vector<Answer> answers;
            for (const std::uint16_t rank : order) {
                ASSERT_TRUE(answers.empty());
                answers = job.contribute(use(rank), c.payloads[rank]);
            }
            expect_results(answers, job, use(0), c.sum);
            ++round;
        } while (std::ranges::next_permutation(order).found);
    }
    EXPECT_EQ(round, cases.size() * 24U);
}

TEST(Datapath, ManyRoundsOverAllSlots) {
    Script script;
    Job job(script, 3);
    for (std::uint32_t k = 0; k < 1000; ++k) {
        const auto slot = static_cast<std::uint16_t>(k % 8);
        const bool version = k / 8 % 2 == 1;
        ASSERT_TRUE(job.contribute(job.header(2, slot, version, k), words({k})).empty());
        ASSERT_TRUE(job.contribute(job.header(0, slot, version, k), words({k * 7})).empty());
        expect_results(job.contribute(job.header(1, slot, version, k), words({1})), job,
                       job.header(0, slot, version, k), words({k * 8 + 1}));
    }
    EXPECT_EQ(script.statistics().results, 1000U);
    EXPECT_EQ(script.statistics().contributions, 3000U);
}

TEST(Datapath, ThreeJobsAtOnceDoNotMix) {
    Script script;
    Job a(script, 2, {.job = "a"}, 1);
    Job b(script, 3, {.job = "b"}, 2);
    Job c(script, 1, {.job = "c"}, 3);
    EXPECT_NE(a.session(), b.session());
    EXPECT_NE(b.session(), c.session());
    EXPECT_TRUE(a.contribute(a.header(0, 0, false, 0), words({1})).empty());
    EXPECT_TRUE(b.contribute(b.header(0, 0, false, 0), words({10})).empty());
    EXPECT_TRUE(b.contribute(b.header(1, 0, false, 0), words({20})).empty());
    expect_results(c.contribute(c.header(0, 0, false, 0), words({100})), c,
                   c.header(0, 0, false, 0), words({100}));
    // A rank of one job with the session of another.
    nic::Header crossed = b.header(1, 0, false, 0);
    crossed.session = a.session();
    EXPECT_TRUE(b.contribute(crossed, words({9})).empty());
    EXPECT_EQ(script.statistics().strangers, 1U);
    expect_results(b.contribute(b.header(2, 0, false, 0), words({30})), b, b.header(0, 0, false, 0),
                   words({60}));
    expect_results(a.contribute(a.header(1, 0, false, 0), words({2})), a, a.header(0, 0, false, 0),
                   words({3}));
    const auto jobs = script.aggregator().jobs();
    ASSERT_EQ(jobs.size(), 3U);
    for (const JobStatistics& job : jobs)
        EXPECT_EQ(job.contributions, job.world_size);
}

}  // namespace
}  // namespace sumwire::aggregator::test
