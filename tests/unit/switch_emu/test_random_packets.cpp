// Random and damaged packets around a running job: no crash, no answer to strangers that costs more
// than it got, and never another sum than the one computed here.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>

#include "script.h"

namespace sumwire::aggregator::test {
namespace {

class RandomPackets : public testing::TestWithParam<std::uint64_t> {
  protected:
    std::uint32_t below(std::uint32_t bound) {
        return std::uniform_int_distribution<std::uint32_t>(0, bound - 1)(random_);
    }

    // A packet that no honest rank would send now, from an address that may be a rank's.
    void disturb(Script& script, const Job& job) {
        nic::Header header;
        header.type = static_cast<nic::PacketType>(1 + below(10));
        header.op = static_cast<nic::Op>(below(5));
        header.rank = static_cast<std::uint16_t>(below(6));
        header.session = below(2) == 0 ? job.session() : random_();
        header.sequence = below(2) == 0 ? below(4000) : static_cast<std::uint32_t>(random_());
        header.slot = static_cast<std::uint16_t>(below(12));
        header.slot_version = below(2) == 0;
        // Packets that would be right from their sender come from a stranger.
        const bool dangerous = header.session == job.session();
        const nic::Endpoint from =
            dangerous ? endpoint_of(100 + below(5), 7) : job.endpoint(below(4));
        Bytes payload(below(200));
        for (std::byte& byte : payload)
            byte = static_cast<std::byte>(random_());
        Bytes bytes = datagram(header, payload, below(2) == 0);
        if (below(4) == 0) bytes.resize(below(static_cast<std::uint32_t>(bytes.size() + 1)));
        if (below(4) == 0 && !bytes.empty()) bytes[0] = static_cast<std::byte>(random_());
        for (const Answer& answer : script.send(from, bytes))
            EXPECT_NE(answer.header.type, nic::PacketType::result);
    }

    // One damaged bit in a sealed contribution of a rank.
    void damage(Script& script, const Job& job, const nic::Header& header, const Bytes& payload) {
        Bytes bytes = datagram(header, payload, true);
        // Not the checksum field itself: all zero there would mean "not computed".
        std::size_t at = below(static_cast<std::uint32_t>(bytes.size()));
        if (at >= 18 && at < 22) at = 0;
        bytes[at] ^= static_cast<std::byte>(1U << below(8));
        EXPECT_TRUE(script.send(job.endpoint(header.rank), bytes).empty());
    }

    std::mt19937_64 random_{GetParam()};
};

TEST_P(RandomPackets, NeverChangeASum) {
    constexpr std::uint16_t world = 4;
    constexpr std::uint32_t slots = 8;
    constexpr std::array ops{nic::Op::bit_or, nic::Op::add_i32, nic::Op::max_u8};
    Script script({}, GetParam());
    Job job(script, world,
            {.payload_bytes = 128, .slots = slots, .peer_timeout_ms = 60'000, .checksums = true});
    std::uint64_t completed = 0;
    for (std::uint32_t k = 0; k < 400; ++k) {
        const nic::Op op = ops[below(ops.size())];
        const std::size_t length = below(33);
        std::vector<std::uint32_t> sum(length);
        std::array<Bytes, world> payloads;
        for (Bytes& payload : payloads) {
            std::vector<std::uint32_t> values(length);
            for (std::size_t i = 0; i < length; ++i) {
                values[i] = static_cast<std::uint32_t>(random_());
                if (op == nic::Op::bit_or) sum[i] |= values[i];
                if (op == nic::Op::add_i32) sum[i] += values[i];
                if (op == nic::Op::max_u8) {
                    std::uint32_t larger = 0;
                    for (unsigned shift = 0; shift < 32; shift += 8) {
                        larger |= std::max(sum[i] >> shift & 0xff, values[i] >> shift & 0xff)
                                  << shift;
                    }
                    sum[i] = larger;
                }
            }
            payload = words(values);
        }
        std::array<std::uint16_t, world> order{0, 1, 2, 3};
        std::shuffle(order.begin(), order.end(), random_);
        std::size_t results = 0;
        for (std::size_t i = 0; i < world; ++i) {
            const std::uint16_t rank = order[i];
            const nic::Header header =
                job.header(rank, static_cast<std::uint16_t>(k % slots), k / slots % 2 == 1, k, op);
            for (std::uint32_t n = below(4); n > 0; --n)
                disturb(script, job);
            damage(script, job, header, payloads[rank]);
            const std::uint32_t copies = 1 + below(2);
            for (std::uint32_t n = 0; n < copies; ++n) {
                for (const Answer& answer : job.contribute(header, payloads[rank], true)) {
                    if (answer.header.type != nic::PacketType::result) continue;
                    ++results;
                    EXPECT_EQ(answer.header.sequence, k);
                    EXPECT_EQ(to_words(answer.payload), sum);
                }
            }
            if (i + 1 < world) {
                EXPECT_EQ(results, 0U);
            } else {
                EXPECT_EQ(results, world + copies - 1);
            }
        }
        ++completed;
        script.advance(std::chrono::milliseconds(below(20)));
    }
    EXPECT_EQ(script.statistics().results, completed);
    EXPECT_EQ(script.statistics().jobs_lost, 0U);
}

// Nothing here is a valid exchange: only that nothing crashes, and state stays bounded.
TEST_P(RandomPackets, NeverCrash) {
    Script script({.jobs = 4, .memory_bytes = 1U << 20U}, GetParam());
    std::array<std::uint64_t, 8> sessions{};
    for (unsigned i = 0; i < 20'000; ++i) {
        const auto rank = static_cast<std::uint16_t>(below(4));
        const nic::Endpoint from = endpoint_of(rank, below(3));
        std::vector<Answer> answers;
        if (below(10) == 0) {
            const JoinOptions options{
                .job = std::string(1, static_cast<char>('a' + below(6))),
                .nonce = 1 + below(3),
                .payload_bytes = static_cast<std::uint16_t>(64 * (1 + below(32))),
                .slots = static_cast<std::uint16_t>(nic::min_slots << below(3)),
                .peer_timeout_ms = 300 + below(3000),
                .checksums = below(8) == 0,
                .float_sums = below(2) == 0,
                .padded = below(2) == 0};
            answers = script.join(from, rank, static_cast<std::uint16_t>(1 + below(4)), options);
        } else {
            nic::Header header;
            header.type = below(20) == 0 ? nic::PacketType::leave : nic::PacketType::contribution;
            header.op = static_cast<nic::Op>(below(5));
            header.rank = rank;
            header.session = sessions[below(sessions.size())];
            header.sequence = below(8) == 0 ? static_cast<std::uint32_t>(random_()) : below(4);
            header.slot = static_cast<std::uint16_t>(below(4));
            header.slot_version = below(2) == 0;
            answers = script.send(from, datagram(header, Bytes(4 * below(40))));
        }
        for (const Answer& answer : answers) {
            if (answer.header.type == nic::PacketType::welcome)
                sessions[below(sessions.size())] = answer.header.session;
        }
        script.advance(std::chrono::milliseconds(below(50)));
    }
    const Statistics statistics = script.statistics();
    EXPECT_GT(statistics.jobs_started, 0U);
    EXPECT_GT(statistics.results, 0U);
    EXPECT_EQ(statistics.jobs_started,
              statistics.jobs_finished + statistics.jobs_lost + script.aggregator().jobs().size());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPackets, testing::Range<std::uint64_t>(1, 6));

}  // namespace
}  // namespace sumwire::aggregator::test
