#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nic/control.h"
#include "tests/unit/nic/bytes.h"

namespace sumwire::nic {
namespace {

template <class Message>
std::vector<std::byte> written(const Message& message, std::size_t room = 512) {
    std::vector<std::byte> out(room, std::byte{0xee});
    out.resize(write(message, out));
    return out;
}

Join example_join() {
    Join join;
    join.nonce = 0x0102030405060708;
    join.rank = 0x090a;
    join.world_size = 0x0b0c;
    join.payload_bytes = 0x0d40;
    join.slots = 0x0200;
    join.peer_timeout_ms = 0x11121314;
    join.checksums = true;
    join.float_sums = true;
    join.job = "job";
    return join;
}

std::vector<std::byte> join_bytes() {
    return bytes("0102030405060708 090a 0b0c 0d40 0200 11121314 03 000000 6a6f62") + zeros(61);
}

TEST(Join, Layout) {
    EXPECT_EQ(written(example_join()), join_bytes());
    Join join = example_join();
    join.float_sums = false;
    EXPECT_EQ(written(join)[20], std::byte{1});
    join.float_sums = true;
    join.checksums = false;
    EXPECT_EQ(written(join)[20], std::byte{2});
}

TEST(Join, IsReadWithPaddingIgnored) {
    for (const std::size_t padding : {0U, 1U, 1000U}) {
        const auto join = read_join(join_bytes() + std::vector(padding, std::byte{0x55}));
        ASSERT_TRUE(join.has_value());
        EXPECT_EQ(join->nonce, 0x0102030405060708U);
        EXPECT_EQ(join->rank, 0x090a);
        EXPECT_EQ(join->world_size, 0x0b0c);
        EXPECT_EQ(join->payload_bytes, 0x0d40);
        EXPECT_EQ(join->slots, 0x0200);
        EXPECT_EQ(join->peer_timeout_ms, 0x11121314U);
        EXPECT_TRUE(join->checksums);
        EXPECT_TRUE(join->float_sums);
        EXPECT_EQ(join->job, "job");
    }
}

TEST(Join, LongestNameFitsAndLongerOnesAreCut) {
    Join join = example_join();
    join.job = std::string(63, 'x');
    EXPECT_EQ(read_join(written(join))->job, join.job);
    join.job = std::string(64, 'x');
    EXPECT_EQ(read_join(written(join))->job, std::string(63, 'x'));
}

// Whether the values make sense is the aggregator's to judge, so that it can say why not.
TEST(Join, ValuesThatTheAggregatorRefusesStillPass) {
    Join join = example_join();
    join.payload_bytes = 100;
    join.rank = 5;
    join.world_size = 0;
    EXPECT_TRUE(read_join(written(join)).has_value());
}

TEST(Waiting, Layout) {
    const auto expected = bytes("1112131415161718 2122 2324 2526 0000");
    EXPECT_EQ(written(Waiting{0x1112131415161718, 0x2122, 0x2324, 0x2526}), expected);
    const auto waiting = read_waiting(expected + bytes("99"));
    ASSERT_TRUE(waiting.has_value());
    EXPECT_EQ(waiting->nonce, 0x1112131415161718U);
    EXPECT_EQ(waiting->answered_bytes, 0x2122);
    EXPECT_EQ(waiting->joined, 0x2324);
    EXPECT_EQ(waiting->missing_rank, 0x2526);
}

TEST(Welcome, Layout) {
    Welcome welcome;
    welcome.nonce = 0x1112131415161718;
    welcome.answered_bytes = 0x2122;
    welcome.payload_bytes = 0x2340;
    welcome.slots = 0x4000;
    welcome.peer_timeout_ms = 0x31323334;
    welcome.checksums = true;
    const auto expected = bytes("1112131415161718 2122 2340 4000 01 00 31323334");
    EXPECT_EQ(written(welcome), expected);
    const auto back = read_welcome(expected + zeros(3));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->nonce, welcome.nonce);
    EXPECT_EQ(back->answered_bytes, 0x2122);
    EXPECT_EQ(back->payload_bytes, 0x2340);
    EXPECT_EQ(back->slots, 0x4000);
    EXPECT_EQ(back->peer_timeout_ms, 0x31323334U);
    EXPECT_TRUE(back->checksums);
    EXPECT_FALSE(back->float_sums);
}

TEST(Refused, Layout) {
    const auto expected = bytes("1112131415161718 0002 0005 68656c6c6f");
    EXPECT_EQ(written(Refused{0x1112131415161718, Refusal::rank_taken, "hello"}), expected);
    const auto back = read_refused(expected + zeros(9));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->nonce, 0x1112131415161718U);
    EXPECT_EQ(back->code, Refusal::rank_taken);
    EXPECT_EQ(back->text, "hello");
}

TEST(Refused, LongTextIsCutBetweenCharacters) {
    EXPECT_EQ(read_refused(written(Refused{1, Refusal::payload, std::string(300, 'a')}))->text,
              std::string(255, 'a'));
    // U+00E9 takes two bytes, of which byte 255 would be the second.
    const std::string text = std::string(254, 'a') + "\xc3\xa9" + "b";
    EXPECT_EQ(read_refused(written(Refused{1, Refusal::payload, text}))->text,
              std::string(254, 'a'));
}

TEST(Refused, EmptyTextIsFine) {
    EXPECT_EQ(read_refused(written(Refused{1, Refusal::malformed, ""}))->text, "");
}

TEST(Pending, Layout) {
    EXPECT_EQ(written(Pending{0x0102, 0x0304}), bytes("0102 0304"));
    const auto back = read_pending(bytes("0102 0304 ff"));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->present, 0x0102);
    EXPECT_EQ(back->missing_rank, 0x0304);
}

TEST(PeerLost, Layout) {
    EXPECT_EQ(written(PeerLostNotice{0x0102, true}), bytes("0102 01 00"));
    EXPECT_EQ(written(PeerLostNotice{0x0102, false}), bytes("0102 00 00"));
    const auto back = read_peer_lost(bytes("0102 01 00"));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->rank, 0x0102);
    EXPECT_TRUE(back->left);
}

TEST(Contradiction, Layout) {
    EXPECT_EQ(written(Contradiction{0x0102, 0x0304, 0x0506, Op::max_u8}),
              bytes("0102 0304 0506 03 00"));
    const auto back = read_contradiction(bytes("0102 0304 0506 03 00"));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->other_rank, 0x0102);
    EXPECT_EQ(back->other_bytes, 0x0304);
    EXPECT_EQ(back->own_bytes, 0x0506);
    EXPECT_EQ(back->other_op, Op::max_u8);
    EXPECT_FALSE(read_contradiction(bytes("0102 0304 0506 0a 00"))) << "unknown op";
    EXPECT_FALSE(read_contradiction(bytes("0102 0304 0506 03 01"))) << "not zero";
}

TEST(Control, ShortPayloadsAreRejected) {
    const auto expect_short = [](const std::vector<std::byte>& whole, auto read) {
        ASSERT_TRUE(read(whole).has_value());
        for (std::size_t size = 0; size < whole.size(); ++size) {
            EXPECT_FALSE(read(std::span(whole).first(size)).has_value()) << size;
        }
    };
    expect_short(join_bytes(), [](std::span<const std::byte> b) { return read_join(b); });
    expect_short(bytes("1112131415161718 2122 2324 2526 0000"),
                 [](std::span<const std::byte> b) { return read_waiting(b); });
    expect_short(bytes("1112131415161718 2122 2340 4000 01 00 31323334"),
                 [](std::span<const std::byte> b) { return read_welcome(b); });
    expect_short(bytes("1112131415161718 0002 0005 68656c6c6f"),
                 [](std::span<const std::byte> b) { return read_refused(b); });
    expect_short(bytes("01020304"), [](std::span<const std::byte> b) { return read_pending(b); });
    expect_short(bytes("01020100"), [](std::span<const std::byte> b) { return read_peer_lost(b); });
    expect_short(bytes("0102030405060300"),
                 [](std::span<const std::byte> b) { return read_contradiction(b); });
}

TEST(Control, FormsThatTheLayoutExcludesAreRejected) {
    const auto with = [](std::vector<std::byte> whole, std::size_t at, unsigned value) {
        whole[at] = static_cast<std::byte>(value);
        return whole;
    };
    const auto join = join_bytes();
    EXPECT_FALSE(read_join(with(join, 24, 0)).has_value()) << "empty name";
    EXPECT_FALSE(read_join(with(join, 87, 1)).has_value()) << "text after the name's end";
    EXPECT_FALSE(read_join(with(join, 20, 4)).has_value()) << "unknown option";
    EXPECT_FALSE(read_join(with(join, 22, 1)).has_value()) << "reserved byte";
    EXPECT_FALSE(read_join(with(join, 15, 1)).has_value()) << "slots no power of two";
    EXPECT_FALSE(read_join(with(join, 14, 0)).has_value()) << "no slots";
    EXPECT_FALSE(read_join(with(with(join, 14, 0), 15, 4)).has_value()) << "too few slots";
    EXPECT_TRUE(read_join(with(with(join, 14, 0), 15, 8)).has_value());
    auto endless = join;
    std::fill(endless.begin() + 24, endless.end(), std::byte{'x'});
    EXPECT_FALSE(read_join(endless).has_value()) << "name without end";

    EXPECT_FALSE(read_waiting(bytes("1112131415161718 2122 2324 2526 0001")).has_value());

    const auto welcome = bytes("1112131415161718 2122 2340 4000 01 00 31323334");
    EXPECT_FALSE(read_welcome(with(welcome, 11, 0x41)).has_value()) << "no multiple of 64";
    EXPECT_FALSE(read_welcome(with(with(welcome, 10, 0), 11, 0)).has_value()) << "no payload";
    EXPECT_FALSE(read_welcome(with(welcome, 13, 1)).has_value()) << "slots no power of two";
    EXPECT_FALSE(read_welcome(with(with(welcome, 12, 0), 13, 4)).has_value()) << "too few slots";
    EXPECT_TRUE(read_welcome(with(with(welcome, 12, 0), 13, 8)).has_value());
    auto hasty = welcome;
    std::fill_n(hasty.begin() + 16, 2, std::byte{0});
    EXPECT_FALSE(read_welcome(with(with(hasty, 18, 1), 19, 0xf3)).has_value()) << "499 ms";
    EXPECT_TRUE(read_welcome(with(with(hasty, 18, 1), 19, 0xf4)).has_value()) << "500 ms";
    EXPECT_FALSE(read_welcome(with(welcome, 14, 4)).has_value()) << "unknown option";
    EXPECT_FALSE(read_welcome(with(welcome, 15, 1)).has_value()) << "reserved byte";

    const auto refused = bytes("1112131415161718 0002 0005 68656c6c6f");
    EXPECT_FALSE(read_refused(with(refused, 9, 0)).has_value()) << "code 0";
    EXPECT_FALSE(read_refused(with(refused, 9, 8)).has_value()) << "code 8";
    EXPECT_FALSE(read_refused(with(refused, 10, 1) + zeros(512)).has_value()) << "text too long";

    EXPECT_FALSE(read_peer_lost(bytes("0102 02 00")).has_value());
    EXPECT_FALSE(read_peer_lost(bytes("0102 01 01")).has_value());
}

}  // namespace
}  // namespace sumwire::nic
