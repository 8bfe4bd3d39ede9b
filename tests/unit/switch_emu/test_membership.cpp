// How ranks join, wait, leave and are lost, in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "script.h"

namespace sumwire::aggregator::test {
namespace {

using namespace std::chrono_literals;
using nic::PacketType;
using nic::Refusal;

Answer only(const std::vector<Answer>& answers) {
    EXPECT_EQ(answers.size(), 1U);
    return answers.empty() ? Answer{} : answers[0];
}

void expect_waiting(const std::vector<Answer>& answers, std::uint16_t joined,
                    std::uint16_t missing_rank) {
    const Answer answer = only(answers);
    ASSERT_EQ(answer.header.type, PacketType::waiting);
    EXPECT_EQ(answer.header.session, 0U);
    const auto waiting = nic::read_waiting(answer.payload);
    ASSERT_TRUE(waiting.has_value());
    EXPECT_EQ(waiting->joined, joined);
    EXPECT_EQ(waiting->missing_rank, missing_rank);
}

std::string expect_refused(const std::vector<Answer>& answers, Refusal code) {
    const Answer answer = only(answers);
    EXPECT_EQ(answer.header.type, PacketType::refused);
    EXPECT_EQ(answer.header.session, 0U);
    const auto refused = nic::read_refused(answer.payload);
    EXPECT_TRUE(refused.has_value());
    if (!refused.has_value()) return {};
    EXPECT_EQ(refused->code, code);
    return refused->text;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// Who was told that this rank is lost.
std::set<std::uint16_t> told_of(const std::vector<Answer>& answers, std::uint16_t lost, bool left) {
    std::set<std::uint16_t> told;
    for (const Answer& answer : answers) {
        if (answer.header.type != PacketType::peer_lost) continue;
        const auto notice = nic::read_peer_lost(answer.payload);
        EXPECT_TRUE(notice.has_value());
        if (!notice.has_value()) continue;
        EXPECT_EQ(notice->rank, lost);
        EXPECT_EQ(notice->left, left);
        EXPECT_EQ(answer.checksum, nic::Checksum::right);
        told.insert(answer.header.rank);
    }
    return told;
}

using Ranks = std::set<std::uint16_t>;

// ---- Gathering

TEST(Joining, EveryJoinIsAnsweredWithProgress) {
    Script script;
    expect_waiting(script.join(endpoint_of(2), 2, 3), 1, 0);
    expect_waiting(script.join(endpoint_of(2), 2, 3), 1, 0);
    expect_waiting(script.join(endpoint_of(0), 0, 3), 2, 1);
    const auto answers = script.join(endpoint_of(1), 1, 3);
    ASSERT_EQ(answers.size(), 3U);
    for (std::uint16_t rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(answers[rank].to, endpoint_of(rank));
        EXPECT_EQ(answers[rank].header.type, PacketType::welcome);
        EXPECT_EQ(answers[rank].header.rank, rank);
        EXPECT_EQ(answers[rank].header.session, answers[0].header.session);
        EXPECT_EQ(nic::read_welcome(answers[rank].payload)->nonce, 1000U + rank);
    }
    ASSERT_EQ(script.events().size(), 1U);
    EXPECT_EQ(script.events()[0].kind, JobEvent::Kind::started);
    EXPECT_EQ(script.events()[0].job.world_size, 3);
}

TEST(Joining, LateDuplicateIsWelcomedAgain) {
    Script script;
    Job job(script, 2);
    const Answer again = only(script.join(job.endpoint(0), 0, 2));
    EXPECT_EQ(again.header.type, PacketType::welcome);
    EXPECT_EQ(again.header.session, job.session());
    EXPECT_EQ(script.statistics().jobs_started, 1U);
}

TEST(Joining, AgreesOnTheSmallestSizesAndLargestTimeout) {
    Script script({.slots_per_job = 64, .payload_bytes = 2048});
    script.join(endpoint_of(0), 0, 3,
                {.payload_bytes = 4096, .slots = 128, .peer_timeout_ms = 1000});
    script.join(endpoint_of(1), 1, 3,
                {.payload_bytes = 1024, .slots = 256, .peer_timeout_ms = 9000, .float_sums = true});
    const auto answers = script.join(
        endpoint_of(2), 2, 3,
        {.payload_bytes = 8192, .slots = 512, .peer_timeout_ms = 500, .checksums = true});
    ASSERT_EQ(answers.size(), 3U);
    for (const Answer& answer : answers) {
        const auto welcome = nic::read_welcome(answer.payload);
        ASSERT_TRUE(welcome.has_value());
        EXPECT_EQ(welcome->payload_bytes, 1024);
        EXPECT_EQ(welcome->slots, 64);
        EXPECT_EQ(welcome->peer_timeout_ms, 9000U);
        EXPECT_TRUE(welcome->checksums);
        EXPECT_TRUE(welcome->float_sums);
    }
}

// 256 slots were asked for. A datagram has 1046 bytes.
TEST(Joining, SlotsAreNoMoreThanThePortHolds) {
    const auto agreed = [](std::size_t capacity, std::uint16_t world_size) {
        Script script({.receive_capacity = capacity});
        return Job(script, world_size, {.slots = 256}).welcome().slots;
    };
    EXPECT_EQ(agreed(0, 4), 256) << "nothing is dropped";
    EXPECT_EQ(agreed(std::size_t{1046} * 4 * 256, 4), 256);
    EXPECT_EQ(agreed(std::size_t{1046} * 4 * 256 - 1, 4), 128);
    EXPECT_EQ(agreed(std::size_t{1046} * 4 * 256, 8), 128) << "more ranks";
    EXPECT_EQ(agreed(std::size_t{1} << 40U, 4), 256);
    EXPECT_EQ(agreed(1000, 4), 8) << "the least";
}

TEST(Joining, AnswersHaveTheLengthOfTheJoin) {
    Script script;
    const auto expect_length = [](const Answer& answer, std::size_t bytes,
                                  std::uint16_t answered_bytes) {
        EXPECT_EQ(answer.datagram_bytes(), bytes);
        EXPECT_EQ(answered_bytes, bytes);
    };
    const Answer large = only(script.join(endpoint_of(0), 0, 2, {.payload_bytes = 4096}));
    expect_length(large, 22 + 4096, nic::read_waiting(large.payload)->answered_bytes);
    const Answer small =
        only(script.join(endpoint_of(0), 0, 2, {.payload_bytes = 4096, .padded = false}));
    expect_length(small, 22 + 88, nic::read_waiting(small.payload)->answered_bytes);
    // The welcome answers each rank's last join.
    const auto answers = script.join(endpoint_of(1), 1, 2, {.payload_bytes = 4096});
    ASSERT_EQ(answers.size(), 2U);
    expect_length(answers[0], 22 + 88, nic::read_welcome(answers[0].payload)->answered_bytes);
    expect_length(answers[1], 22 + 4096, nic::read_welcome(answers[1].payload)->answered_bytes);
}

TEST(Joining, RankThatGaveUpCountsAsMissing) {
    Script script;
    script.join(endpoint_of(0), 0, 2);
    script.advance(4s);
    expect_waiting(script.join(endpoint_of(1), 1, 2), 1, 0);
    EXPECT_EQ(script.join(endpoint_of(0), 0, 2).size(), 2U);
}

TEST(Joining, GatheringIsForgottenAfterItsTimeout) {
    Script script({.gathering_timeout = 10s});
    script.join(endpoint_of(0), 0, 2);
    EXPECT_EQ(script.aggregator().next_deadline(), script.now() + 10s);
    script.advance(6s);
    script.join(endpoint_of(0), 0, 2);
    EXPECT_FALSE(script.aggregator().idle());
    script.advance(9s);
    EXPECT_FALSE(script.aggregator().idle());
    script.advance(1s);
    EXPECT_TRUE(script.aggregator().idle());
    EXPECT_EQ(script.aggregator().next_deadline(), never);
}

// ---- Refusals

TEST(Refusals, WorldSizesThatDisagree) {
    Script script;
    script.join(endpoint_of(0), 0, 4);
    expect_waiting(script.join(endpoint_of(1), 1, 2), 0, 1);
    script.advance(100ms);
    script.join(endpoint_of(0), 0, 4);
    const std::string text = expect_refused(script.join(endpoint_of(1), 1, 2), Refusal::world_size);
    EXPECT_TRUE(contains(text, "4") && contains(text, "2") && contains(text, "'job'")) << text;

    Job running(script, 2, {.job = "running"}, 1);
    expect_waiting(script.join(endpoint_of(2, 1), 2, 3, {.job = "running"}), 0, 2);
    script.advance(100ms);
    running.heartbeat(1);
    expect_refused(script.join(endpoint_of(2, 1), 2, 3, {.job = "running"}), Refusal::world_size);
    EXPECT_EQ(script.statistics().refusals, 2U);
}

TEST(Refusals, OtherWorldSizeIsTakenOnceNobodyJoinsWithTheOld) {
    Script script;
    script.join(endpoint_of(0), 0, 4);
    script.advance(500ms);
    expect_waiting(script.join(endpoint_of(1), 1, 2), 0, 1);
    script.advance(1s);
    expect_waiting(script.join(endpoint_of(1), 1, 2), 1, 0);
}

TEST(Rivals, ARestartWithAnotherWorldSizeReplacesADeadGeneration) {
    Script script;
    Job dead(script, 2);
    script.advance(500ms);
    expect_waiting(script.join(endpoint_of(9), 0, 3, {.nonce = 77}), 0, 0);
    expect_waiting(script.join(endpoint_of(10), 2, 3, {.nonce = 78}), 0, 2);
    script.advance(500ms);
    expect_waiting(script.join(endpoint_of(9), 0, 3, {.nonce = 77}), 0, 0);
    script.advance(500ms);
    const auto answers = script.join(endpoint_of(9), 0, 3, {.nonce = 77});
    EXPECT_EQ(script.statistics().jobs_lost, 1U);
    expect_waiting({answers.back()}, 1, 1);
    script.join(endpoint_of(10), 2, 3, {.nonce = 78});
    EXPECT_EQ(script.join(endpoint_of(11), 1, 3, {.nonce = 79}).size(), 3U);
    EXPECT_EQ(script.statistics().refusals, 0U);
}

TEST(Refusals, RankOutOfRange) {
    Script script;
    expect_refused(script.join(endpoint_of(2), 2, 2), Refusal::rank_range);
    expect_refused(script.join(endpoint_of(0), 0, 0), Refusal::rank_range);
    const std::string text =
        expect_refused(script.join(endpoint_of(0), 0, 1025), Refusal::rank_range);
    EXPECT_TRUE(contains(text, "1024")) << text;
    EXPECT_TRUE(script.aggregator().idle());
}

TEST(Refusals, Payload) {
    Script script;
    expect_refused(script.join(endpoint_of(0), 0, 2, {.payload_bytes = 0}), Refusal::payload);
    expect_refused(script.join(endpoint_of(0), 0, 2, {.payload_bytes = 1000}), Refusal::payload);
}

TEST(Refusals, PeerTimeoutThatAFewLossesExceed) {
    Script script;
    const std::string text = expect_refused(
        script.join(endpoint_of(0), 0, 2, {.peer_timeout_ms = 499}), Refusal::peer_timeout);
    EXPECT_TRUE(contains(text, "499 ms") && contains(text, "500 ms")) << text;
    EXPECT_EQ(script.join(endpoint_of(0), 0, 1, {.peer_timeout_ms = 500}).size(), 1U);
}

TEST(Refusals, HeaderAndJoinNameDifferentRanks) {
    Script script;
    const nic::Join join{
        .nonce = 1, .rank = 1, .world_size = 2, .payload_bytes = 64, .slots = 8, .job = "job"};
    Bytes payload(nic::Join::bytes);
    nic::write(join, payload);
    expect_refused(
        script.send(endpoint_of(0), datagram({.type = PacketType::join, .rank = 0}, payload)),
        Refusal::malformed);
}

TEST(Refusals, JobNameWithControlCharacters) {
    Script script;
    expect_refused(script.join(endpoint_of(0), 0, 2, {.job = "a\nb"}), Refusal::malformed);
}

TEST(Refusals, UnreadableJoinIsMalformed) {
    Script script;
    EXPECT_TRUE(
        script.send(endpoint_of(0), datagram({.type = PacketType::join}, Bytes(87))).empty());
    EXPECT_TRUE(script.join(endpoint_of(0), 0, 2, {.slots = 12}).empty());
    EXPECT_TRUE(script.join(endpoint_of(0), 0, 2, {.slots = 4}).empty());
    EXPECT_EQ(script.statistics().malformed, 3U);
}

TEST(Refusals, MoreJobsThanAllowed) {
    Script script({.jobs = 2});
    Job a(script, 1, {.job = "a"});
    script.join(endpoint_of(0, 1), 0, 2, {.job = "b"});
    const std::string text =
        expect_refused(script.join(endpoint_of(0, 2), 0, 1, {.job = "c"}), Refusal::capacity);
    EXPECT_TRUE(contains(text, "--jobs")) << text;
    a.leave(0);
    EXPECT_EQ(script.join(endpoint_of(0, 2), 0, 1, {.job = "c"}).size(), 1U);
}

TEST(Refusals, MoreMemoryThanAllowed) {
    // 8 slots in two versions of 1024 bytes, and for float sums one more of each slot.
    Script script({.memory_bytes = std::size_t{8} * 1024 * 3 - 1});
    script.join(endpoint_of(0), 0, 2, {.float_sums = true});
    const auto answers = script.join(endpoint_of(1), 1, 2, {.float_sums = true});
    ASSERT_EQ(answers.size(), 2U);
    for (const Answer& answer : answers) {
        const std::string text = expect_refused({answer}, Refusal::capacity);
        EXPECT_TRUE(contains(text, "24 KiB") && contains(text, "--memory")) << text;
    }
    EXPECT_TRUE(script.aggregator().idle());
    Job without(script, 2);
    // 16 KiB of 24 are taken now.
    script.join(endpoint_of(0, 1), 0, 1, {.job = "other"});
    EXPECT_EQ(script.statistics().jobs_started, 1U);
    without.leave(0);
    without.leave(1);
    Job other(script, 1, {.job = "other"}, 1);
}

TEST(Refusals, LimitsThatContradictThemselves) {
    const auto make = [](const Limits& limits) {
        const Aggregator aggregator(limits, [] { return std::uint64_t{1}; });
    };
    EXPECT_THROW(make({.jobs = 0}), std::invalid_argument);
    EXPECT_THROW(make({.slots_per_job = 100}), std::invalid_argument);
    EXPECT_THROW(make({.slots_per_job = 0}), std::invalid_argument);
    EXPECT_THROW(make({.slots_per_job = 4}), std::invalid_argument);
    EXPECT_THROW(make({.payload_bytes = 100}), std::invalid_argument);
    EXPECT_THROW(make({.payload_bytes = 0}), std::invalid_argument);
}

// ---- Rivals for a rank

constexpr std::uint64_t rival_nonce = 77;

TEST(Rivals, WhileGatheringALiveHolderKeepsTheRank) {
    Script script;
    script.join(endpoint_of(0), 0, 2);
    script.advance(100ms);
    expect_waiting(script.join(endpoint_of(9), 0, 2, {.nonce = rival_nonce}), 0, 0);
    script.advance(200ms);
    script.join(endpoint_of(0), 0, 2);
    script.advance(200ms);
    const std::string text = expect_refused(
        script.join(endpoint_of(9), 0, 2, {.nonce = rival_nonce}), Refusal::rank_taken);
    EXPECT_TRUE(contains(text, "10.0.0.0:40000") && contains(text, "rank 0")) << text;
    EXPECT_EQ(script.join(endpoint_of(1), 1, 2).size(), 2U);
}

TEST(Rivals, WhileGatheringASilentHolderIsReplaced) {
    Script script;
    script.join(endpoint_of(0), 0, 2);
    expect_waiting(script.join(endpoint_of(9), 0, 2, {.nonce = rival_nonce}), 0, 0);
    // Nothing begins with a rank that is under dispute.
    expect_waiting(script.join(endpoint_of(1), 1, 2), 1, 0);
    script.advance(1s);
    const auto answers = script.join(endpoint_of(9), 0, 2, {.nonce = rival_nonce});
    ASSERT_EQ(answers.size(), 2U);
    EXPECT_EQ(answers[0].header.type, PacketType::welcome);
    EXPECT_EQ(answers[0].to, endpoint_of(9));
    EXPECT_EQ(answers[1].to, endpoint_of(1));
}

TEST(Rivals, WhileRunningALiveHolderKeepsTheRank) {
    Script script;
    Job job(script, 2);
    const JoinOptions rival{.nonce = rival_nonce};
    expect_waiting(script.join(endpoint_of(9), 0, 2, rival), 0, 0);
    script.advance(250ms);
    expect_waiting(script.join(endpoint_of(9), 0, 2, rival), 0, 0);
    job.heartbeat(0);
    script.advance(250ms);
    expect_refused(script.join(endpoint_of(9), 0, 2, rival), Refusal::rank_taken);
    EXPECT_EQ(job.heartbeat(1).size(), 1U);
    EXPECT_EQ(script.statistics().jobs_lost, 0U);
}

TEST(Rivals, WhileRunningASilentHolderLosesTheGeneration) {
    Script script;
    Job job(script, 3);
    const JoinOptions restart{.nonce = rival_nonce};
    expect_waiting(script.join(endpoint_of(9), 1, 3, restart), 0, 1);
    script.advance(600ms);
    job.heartbeat(0);
    job.heartbeat(2);
    expect_waiting(script.join(endpoint_of(9), 1, 3, restart), 0, 1);
    script.advance(400ms);
    const auto answers = script.join(endpoint_of(9), 1, 3, restart);
    EXPECT_EQ(told_of(answers, 1, false), (Ranks{0, 2}));
    ASSERT_EQ(answers.size(), 3U);
    expect_waiting({answers.back()}, 1, 0);
    EXPECT_EQ(script.statistics().jobs_lost, 1U);
    // The other ranks come back, and the next generation begins.
    script.join(endpoint_of(10), 0, 3, {.nonce = 78});
    const auto begun = script.join(endpoint_of(11), 2, 3, {.nonce = 79});
    ASSERT_EQ(begun.size(), 3U);
    EXPECT_EQ(begun[1].to, endpoint_of(9));
    EXPECT_NE(begun[0].header.session, job.session());
}

TEST(Rivals, ClaimOfLongAgoDoesNotCondemnARestart) {
    Script script;
    Job job(script, 1);
    const JoinOptions rival{.nonce = rival_nonce};
    expect_waiting(script.join(endpoint_of(9), 0, 1, rival), 0, 0);  // and gives up
    for (unsigned i = 0; i < 20; ++i) {
        script.advance(250ms);
        job.heartbeat(0);
    }
    // The holder dies now; its restart must get the rank.
    const JoinOptions restart{.nonce = 78};
    expect_waiting(script.join(endpoint_of(8), 0, 1, restart), 0, 0);
    script.advance(500ms);
    expect_waiting(script.join(endpoint_of(8), 0, 1, restart), 0, 0);
    script.advance(500ms);
    EXPECT_EQ(only(script.join(endpoint_of(8), 0, 1, restart)).header.type, PacketType::welcome);
}

// ---- Leaving

TEST(Leaving, AllRanksFinishTheJob) {
    Script script;
    Job job(script, 2);
    EXPECT_TRUE(job.leave(0).empty());
    EXPECT_TRUE(job.leave(0).empty());  // retransmitted
    EXPECT_FALSE(script.aggregator().idle());
    EXPECT_TRUE(job.leave(1).empty());
    EXPECT_TRUE(script.aggregator().idle());
    EXPECT_TRUE(job.leave(1).empty());  // retransmitted after the end
    const Statistics statistics = script.statistics();
    EXPECT_EQ(statistics.jobs_finished, 1U);
    EXPECT_EQ(statistics.jobs_lost, 0U);
    EXPECT_EQ(statistics.strangers, 0U);
    ASSERT_EQ(script.events().size(), 2U);
    EXPECT_EQ(script.events()[1].kind, JobEvent::Kind::finished);
    script.advance(0s);
    EXPECT_EQ(script.aggregator().next_deadline(), never);
}

TEST(Leaving, ThoseWhoStayStillGetTheLastResult) {
    Script script;
    Job job(script, 2);
    job.contribute(job.header(0, 0, false, 0), words({1}));
    job.contribute(job.header(1, 0, false, 0), words({2}));
    job.leave(0);
    const Answer result = only(job.contribute(job.header(1, 0, false, 0), words({2})));
    EXPECT_EQ(result.header.type, PacketType::result);
    EXPECT_EQ(result.payload, words({3}));
    EXPECT_EQ(only(job.heartbeat(1)).header.type, PacketType::heartbeat);
    job.leave(1);
    EXPECT_EQ(script.statistics().jobs_finished, 1U);
}

TEST(Leaving, ThoseWhoWaitForItAreToldAtOnce) {
    Script script;
    Job job(script, 3);
    job.contribute(job.header(1, 0, false, 0), words({1}));
    EXPECT_EQ(told_of(job.leave(0), 0, true), (Ranks{1, 2}));
    EXPECT_EQ(script.statistics().jobs_lost, 1U);
    ASSERT_EQ(script.events().size(), 2U);
    EXPECT_EQ(script.events()[1].kind, JobEvent::Kind::lost);
    EXPECT_TRUE(script.events()[1].left);
}

TEST(Leaving, ThoseWhoNeedItLaterAreToldThen) {
    Script script;
    Job job(script, 3);
    EXPECT_TRUE(job.leave(2).empty());
    EXPECT_EQ(told_of(job.contribute(job.header(0, 0, false, 0), words({1})), 2, true),
              (Ranks{0, 1}));
    // Who missed the notice hears it again.
    EXPECT_EQ(told_of(job.contribute(job.header(1, 0, false, 0), words({1})), 2, true), Ranks{1});
    EXPECT_EQ(told_of(job.heartbeat(0), 2, true), Ranks{0});
}

TEST(Leaving, OthersMayStillCompleteWhatItTookPartIn) {
    Script script;
    Job job(script, 3);
    job.contribute(job.header(0, 0, false, 0), words({1}));
    EXPECT_TRUE(job.leave(0).empty());
    EXPECT_TRUE(job.contribute(job.header(1, 0, false, 0), words({2})).empty());
    const auto answers = job.contribute(job.header(2, 0, false, 0), words({3}));
    ASSERT_EQ(answers.size(), 2U);
    EXPECT_EQ(answers[0].header.rank, 1);
    EXPECT_EQ(answers[1].header.rank, 2);
    EXPECT_EQ(answers[0].payload, words({6}));
}

TEST(Leaving, ContributionThatOvertookItsLeaveChangesNothing) {
    Script script;
    Job job(script, 2);
    job.leave(0);
    EXPECT_TRUE(job.contribute(job.header(0, 0, false, 0), words({1})).empty());
    EXPECT_EQ(script.statistics().contributions, 0U);
}

TEST(Leaving, NextGenerationGathersWhileTheOldOneEnds) {
    Script script;
    Job old(script, 2);
    old.leave(0);
    expect_waiting(script.join(endpoint_of(20), 0, 2, {.nonce = 50}), 1, 1);
    EXPECT_TRUE(script.join(old.endpoint(0), 0, 2).empty());  // the old join, long under way
    EXPECT_EQ(only(old.heartbeat(1)).header.type, PacketType::heartbeat);
    old.leave(1);
    const auto answers = script.join(endpoint_of(21), 1, 2, {.nonce = 51});
    ASSERT_EQ(answers.size(), 2U);
    EXPECT_NE(answers[0].header.session, old.session());
    EXPECT_EQ(script.statistics().jobs_finished, 1U);
}

TEST(Leaving, NextGenerationMayHaveAnotherWorldSize) {
    Script script;
    Job old(script, 3);
    old.leave(0);
    const auto answers = script.join(endpoint_of(20), 0, 1, {.nonce = 50});
    EXPECT_EQ(told_of(answers, 0, true), (Ranks{1, 2}));
    EXPECT_EQ(answers.back().header.type, PacketType::welcome);
    EXPECT_EQ(answers.back().to, endpoint_of(20));
}

// ---- Silence

TEST(Silence, OthersAreToldAfterThePeerTimeout) {
    Script script;
    Job job(script, 3, {.peer_timeout_ms = 2000});
    const Time start = script.now();
    EXPECT_EQ(script.aggregator().next_deadline(), start + 2s);
    EXPECT_TRUE(script.advance(1s).empty());
    job.heartbeat(0);
    job.contribute(job.header(2, 0, false, 0), words({1}));
    EXPECT_TRUE(script.advance(999ms).empty());
    EXPECT_EQ(told_of(script.advance(1ms), 1, false), (Ranks{0, 2}));
    EXPECT_EQ(script.statistics().jobs_lost, 1U);
    // Repeated to latecomers, the lost one included, for a while.
    EXPECT_EQ(told_of(job.heartbeat(1), 1, false), Ranks{1});
    EXPECT_EQ(told_of(job.contribute(job.header(0, 0, false, 0), words({1})), 1, false), Ranks{0});
    EXPECT_TRUE(job.leave(2).empty());
    script.advance(61s);
    EXPECT_TRUE(job.heartbeat(0).empty());
    EXPECT_EQ(script.statistics().strangers, 1U);
}

TEST(Silence, AnyPacketCountsAsALifeSign) {
    Script script;
    Job job(script, 1, {.peer_timeout_ms = 1000});
    const nic::Header use = job.header(0, 0, false, 0);
    for (unsigned i = 0; i < 5; ++i) {
        EXPECT_TRUE(script.advance(900ms).empty());
        switch (i) {
            case 0:
                job.contribute(use, words({1}));
                break;
            case 1:
                job.contribute(use, words({1}));  // duplicate
                break;
            case 2:
                job.contribute(use, words({1, 2}));  // contradiction
                break;
            case 3:
                script.join(job.endpoint(0), 0, 1);  // the welcome was lost
                break;
            default:
                job.heartbeat(0);
        }
    }
    EXPECT_EQ(script.statistics().jobs_lost, 0U);
}

TEST(Silence, DeadlinesAreNeverLateAndMoveOn) {
    Script script;
    Job job(script, 2, {.peer_timeout_ms = 1000});
    script.advance(400ms);
    job.heartbeat(0);
    job.heartbeat(1);
    const Time heard = script.now();
    EXPECT_LE(script.aggregator().next_deadline(), heard + 1s);
    script.advance(700ms);
    EXPECT_EQ(script.aggregator().next_deadline(), heard + 1s);
}

TEST(Silence, RanksThatLeftMayBeSilent) {
    Script script;
    Job job(script, 2, {.peer_timeout_ms = 1000});
    job.leave(0);
    for (unsigned i = 0; i < 10; ++i) {
        EXPECT_TRUE(script.advance(500ms).empty());
        EXPECT_EQ(only(job.heartbeat(1)).header.type, PacketType::heartbeat);
    }
    script.advance(1s);
    EXPECT_EQ(script.statistics().jobs_lost, 1U);
    EXPECT_TRUE(script.aggregator().idle());
}

TEST(Silence, RanksThatLeftAreNotTold) {
    Script script;
    Job job(script, 3, {.peer_timeout_ms = 1000});
    job.leave(0);
    script.advance(500ms);
    job.heartbeat(2);
    EXPECT_EQ(told_of(script.advance(500ms), 1, false), Ranks{2});
}

TEST(Silence, OtherJobsGoOn) {
    Script script;
    Job silent(script, 2, {.job = "silent", .peer_timeout_ms = 1000}, 1);
    Job lively(script, 2, {.job = "lively", .peer_timeout_ms = 3000}, 2);
    const auto answers = script.advance(2s);
    EXPECT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].header.session, silent.session());
    EXPECT_TRUE(lively.contribute(lively.header(0, 0, false, 0), words({1})).empty());
    EXPECT_EQ(lively.contribute(lively.header(1, 0, false, 0), words({2})).size(), 2U);
    ASSERT_EQ(script.aggregator().jobs().size(), 1U);
    EXPECT_EQ(script.aggregator().jobs()[0].name, "lively");
}

TEST(Silence, RememberedEndsAreBounded) {
    Script script;
    Job first(script, 2, {.job = "first"});
    first.leave(0);
    first.contribute(first.header(1, 0, false, 0), words({1}));
    EXPECT_EQ(told_of(first.heartbeat(1), 0, true), Ranks{1});
    for (unsigned i = 0; i < 64; ++i) {
        Job job(script, 1);
        job.leave(0);
    }
    EXPECT_TRUE(first.heartbeat(1).empty());
}

TEST(Membership, OneThousandRanks) {
    Script script;
    Job job(script, 1024, {.payload_bytes = 64, .slots = 8});
    for (std::uint16_t rank = 0; rank < 1024; ++rank)
        EXPECT_TRUE(job.leave(rank).empty());
    EXPECT_EQ(script.statistics().jobs_finished, 1U);
}

TEST(Closing, TellsEveryRankThatIsStillThere) {
    Script script;
    const Job two(script, 2, {.job = "two"});
    Job three(script, 3, {.job = "three"}, 1);
    script.join(endpoint_of(0, 2), 0, 2, {.job = "gathering"});
    three.leave(1);
    Outbox out;
    script.aggregator().close(out);
    std::vector<std::pair<nic::Endpoint, std::uint64_t>> told;
    for (const Outgoing& packet : out.packets()) {
        ASSERT_EQ(nic::check(packet.header), nic::Checksum::right);
        const auto header = nic::read_header(packet.header);
        ASSERT_TRUE(header);
        EXPECT_EQ(header->type, PacketType::closing);
        EXPECT_EQ(packet.to,
                  (header->session == two.session() ? two : three).endpoint(header->rank));
        told.emplace_back(packet.to, header->session);
    }
    EXPECT_THAT(told,
                testing::UnorderedElementsAre(testing::Pair(two.endpoint(0), two.session()),
                                              testing::Pair(two.endpoint(1), two.session()),
                                              testing::Pair(three.endpoint(0), three.session()),
                                              testing::Pair(three.endpoint(2), three.session())));
}

}  // namespace
}  // namespace sumwire::aggregator::test
