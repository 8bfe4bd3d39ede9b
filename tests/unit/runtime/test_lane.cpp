#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "runtime/session/lane.h"

namespace sumwire::runtime {
namespace {

std::vector<std::byte> filled(std::size_t bytes, int value) {
    return std::vector<std::byte>(bytes, static_cast<std::byte>(value));
}

nic::Header result_for(const LanePacket& packet) {
    return {.type = nic::PacketType::result,
            .op = packet.op,
            .sequence = packet.sequence,
            .slot = static_cast<std::uint16_t>(packet.slot),
            .slot_version = packet.version};
}

TEST(Lane, CutsMessagesIntoPacketsAndNumbersThemOn) {
    Lane lane(8, 4, 64, 4);
    auto first = filled(100, 1);
    auto second = filled(64, 2);
    ASSERT_TRUE(lane.post({.op = nic::Op::bit_or, .bytes = first, .token = 10}));
    ASSERT_TRUE(lane.post({.op = nic::Op::add_i32, .bytes = second, .token = 11}));

    struct Expected {
        std::uint32_t slot, sequence;
        std::size_t bytes;
        nic::Op op;
    };
    const std::array expected{Expected{8, 0, 64, nic::Op::bit_or},
                              Expected{9, 1, 36, nic::Op::bit_or},
                              Expected{10, 2, 64, nic::Op::add_i32}};
    for (const Expected& want : expected) {
        const auto packet = lane.next_packet();
        ASSERT_TRUE(packet);
        EXPECT_EQ(packet->slot, want.slot);
        EXPECT_EQ(packet->sequence, want.sequence);
        EXPECT_EQ(packet->payload.size(), want.bytes);
        EXPECT_EQ(packet->op, want.op);
        EXPECT_FALSE(packet->version);
    }
    EXPECT_FALSE(lane.next_packet());
}

TEST(Lane, UsesASlotAgainInTheOtherVersionOnlyAfterItsResult) {
    Lane lane(0, 2, 64, 4);
    auto message = filled(4 * 64, 7);
    lane.post({.op = nic::Op::add_i32, .bytes = message, .token = 1});
    const auto first = lane.next_packet();
    const auto second = lane.next_packet();
    ASSERT_TRUE(first && second);
    EXPECT_FALSE(lane.next_packet()) << "both slots are busy";

    // The second slot's result does not free the first slot, which is next in order.
    const auto answer = filled(64, 9);
    EXPECT_EQ(lane.accept(result_for(*second), answer), Lane::Accepted::packet);
    EXPECT_FALSE(lane.next_packet());
    EXPECT_EQ(lane.accept(result_for(*first), answer), Lane::Accepted::packet);
    const auto third = lane.next_packet();
    ASSERT_TRUE(third);
    EXPECT_EQ(third->slot, 0U);
    EXPECT_EQ(third->sequence, 2U);
    EXPECT_TRUE(third->version);
}

TEST(Lane, PutsResultsOverContributionsAndReportsWholeMessages) {
    Lane lane(0, 4, 64, 4);
    auto message = filled(100, 1);
    lane.post({.op = nic::Op::add_i32, .bytes = message, .token = 77});
    const auto first = lane.next_packet();
    const auto second = lane.next_packet();
    EXPECT_EQ(lane.accept(result_for(*second), filled(36, 5)), Lane::Accepted::packet);
    EXPECT_EQ(lane.accept(result_for(*first), filled(64, 4)), Lane::Accepted::message);
    EXPECT_EQ(lane.completed_token(), 77U);

    auto expected = filled(64, 4);
    const auto tail = filled(36, 5);
    expected.insert(expected.end(), tail.begin(), tail.end());
    EXPECT_EQ(message, expected);
}

TEST(Lane, RefusesWhatItDoesNotWaitFor) {
    Lane lane(0, 4, 64, 4);
    auto message = filled(64, 1);
    lane.post({.op = nic::Op::add_i32, .bytes = message, .token = 1});
    const auto packet = lane.next_packet();
    const nic::Header right = result_for(*packet);
    const auto answer = filled(64, 2);

    nic::Header other = right;
    other.sequence += 8;
    EXPECT_EQ(lane.accept(other, answer), Lane::Accepted::no) << "another sequence";
    other = right;
    other.op = nic::Op::bit_or;
    EXPECT_EQ(lane.accept(other, answer), Lane::Accepted::no) << "another operation";
    EXPECT_EQ(lane.accept(right, filled(60, 2)), Lane::Accepted::no) << "another length";
    other = right;
    other.slot = 1;
    EXPECT_EQ(lane.accept(other, answer), Lane::Accepted::no) << "an idle slot";
    EXPECT_EQ(message, filled(64, 1)) << "untouched so far";

    EXPECT_EQ(lane.accept(right, answer), Lane::Accepted::message);
    EXPECT_EQ(lane.accept(right, answer), Lane::Accepted::no) << "a duplicate";
}

TEST(Lane, AnEmptyMessageIsOnePacketWithoutPayload) {
    Lane lane(0, 2, 64, 2);
    lane.post({.op = nic::Op::bit_or, .bytes = {}, .token = 5});
    const auto packet = lane.next_packet();
    ASSERT_TRUE(packet);
    EXPECT_TRUE(packet->payload.empty());
    EXPECT_EQ(lane.accept(result_for(*packet), {}), Lane::Accepted::message);
    EXPECT_EQ(lane.completed_token(), 5U);
}

TEST(Lane, HoldsAsManyMessagesAsPromisedUntilTheyAreDone) {
    Lane lane(0, 8, 64, 2);
    auto a = filled(64, 1);
    auto b = filled(64, 2);
    ASSERT_TRUE(lane.post({.op = nic::Op::bit_or, .bytes = a, .token = 1}));
    ASSERT_TRUE(lane.post({.op = nic::Op::bit_or, .bytes = b, .token = 2}));
    EXPECT_FALSE(lane.post({.op = nic::Op::bit_or, .bytes = a, .token = 3}));

    const auto first = lane.next_packet();
    const auto second = lane.next_packet();
    lane.accept(result_for(*second), filled(64, 3));
    EXPECT_FALSE(lane.post({.op = nic::Op::bit_or, .bytes = a, .token = 3}))
        << "the oldest is still under way";
    lane.accept(result_for(*first), filled(64, 3));
    EXPECT_TRUE(lane.post({.op = nic::Op::bit_or, .bytes = a, .token = 3}));
}

}  // namespace
}  // namespace sumwire::runtime
