// sumwire-aggregator as its users see it: signals, files, exit codes, and a worker over UDP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>

#include "aggregator_process.h"
#include "nic/control.h"
#include "nic/port_spec.h"
#include "nic/time.h"
#include "nic/wire.h"

namespace sumwire::apps::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const std::vector<std::string> on_loopback{"--port", "udp:bind=127.0.0.1", "--listen", "0"};

std::vector<std::string> with(std::vector<std::string> more) {
    more.insert(more.begin(), on_loopback.begin(), on_loopback.end());
    return more;
}

class Signal : public testing::TestWithParam<int> {};

TEST_P(Signal, EndsItCleanlyWithStatistics) {
    AggregatorProcess aggregator(on_loopback);
    aggregator.wait_until_ready();
    aggregator.signal(GetParam());
    EXPECT_EQ(aggregator.exit_code(), 0);
    EXPECT_THAT(aggregator.standard_error(), HasSubstr("EMULATED SWITCH"));
    EXPECT_THAT(aggregator.standard_error(), HasSubstr("jobs_finished"));
    EXPECT_EQ(aggregator.standard_output(), "");
    EXPECT_EQ(aggregator.statistics().at("jobs_started"), 0);
}

INSTANTIATE_TEST_SUITE_P(Signals, Signal, testing::Values(SIGINT, SIGTERM));

TEST(AggregatorProgram, SigintEndsItInTheBackgroundOfAShellToo) {
    AggregatorProcess aggregator(on_loopback, true);
    aggregator.wait_until_ready();
    aggregator.signal(SIGINT);
    EXPECT_EQ(aggregator.exit_code(), 0);
}

// A job of one rank, by hand.
class Worker {
  public:
    explicit Worker(const nic::Endpoint& aggregator)
        : aggregator_(aggregator),
          port_(nic::open_port("udp", {.udp_port = 0, .peer = aggregator})) {}

    // Sends until an answer of this type comes.
    std::optional<nic::Header> exchange(const nic::Header& header,
                                        const std::vector<std::byte>& payload,
                                        nic::PacketType wanted) {
        const Time deadline = steady_now() + 30s;
        while (steady_now() < deadline) {
            send(header, payload);
            const Time again = steady_now() + 200ms;
            while (steady_now() < again) {
                port_->wait(10ms);
                if (const auto answer = receive(); answer && answer->type == wanted) return answer;
            }
        }
        ADD_FAILURE() << "no answer of type " << static_cast<int>(wanted);
        return std::nullopt;
    }

    void send(const nic::Header& header, const std::vector<std::byte>& payload) {
        std::array<std::byte, nic::header_bytes> bytes{};
        nic::write_header(header, bytes);
        nic::seal(bytes, payload);
        const nic::TxPacket packet{.to = aggregator_, .header = bytes, .payload = payload};
        port_->transmit({&packet, 1});
    }

    std::span<const std::byte> payload() const { return payload_; }

  private:
    std::optional<nic::Header> receive() {
        nic::RxPacket packet;
        if (port_->receive({&packet, 1}) == 0) return std::nullopt;
        const auto header = nic::read_header(packet.datagram);
        if (header) {
            const auto rest = packet.datagram.subspan(nic::header_bytes);
            payload_.assign(rest.begin(), rest.end());
        }
        port_->release({&packet, 1});
        return header;
    }

    nic::Endpoint aggregator_;
    std::unique_ptr<nic::PacketPort> port_;
    std::vector<std::byte> payload_;
};

TEST(AggregatorProgram, ServesAJobAndEndsWhenIdle) {
    AggregatorProcess aggregator(with({"--exit-when-idle", "--polling", "sleep"}));
    Worker worker(aggregator.wait_until_ready());

    std::vector<std::byte> join_payload(nic::Join::bytes);
    nic::write(nic::Join{.nonce = 7,
                         .rank = 0,
                         .world_size = 1,
                         .payload_bytes = 1024,
                         .slots = 8,
                         .peer_timeout_ms = 60'000,
                         .job = "single"},
               join_payload);
    const auto welcome =
        worker.exchange({.type = nic::PacketType::join}, join_payload, nic::PacketType::welcome);
    ASSERT_TRUE(welcome);
    const nic::Header contribution{
        .type = nic::PacketType::contribution, .op = nic::Op::add_i32, .session = welcome->session};
    const std::vector<std::byte> payload(1024, std::byte{0x5a});
    ASSERT_TRUE(worker.exchange(contribution, payload, nic::PacketType::result));
    EXPECT_TRUE(std::ranges::equal(worker.payload(), payload));
    worker.send({.type = nic::PacketType::leave, .session = welcome->session}, {});

    EXPECT_EQ(aggregator.exit_code(), 0);
    const nlohmann::json statistics = aggregator.statistics();
    EXPECT_EQ(statistics.at("jobs_finished"), 1);
    EXPECT_EQ(statistics.at("results"), 1);
    ASSERT_EQ(statistics.at("jobs").size(), 1U);
    EXPECT_EQ(statistics.at("jobs")[0].at("name"), "single");
    EXPECT_EQ(statistics.at("jobs")[0].at("state"), "finished");
    EXPECT_THAT(aggregator.standard_error(), HasSubstr("job 'single' finished"));
}

struct BadUse {
    std::vector<std::string> arguments;
    const char* says;
};

TEST(AggregatorProgram, BadArgumentsAreOneLineAndExitCode2) {
    const std::vector<BadUse> uses{
        {{"--slots", "12"}, "power of two"},
        {{"--payload", "100"}, "multiple of 64"},
        {{"--polling", "fast"}, "auto, spin, yield or sleep"},
        {{"--listen", "70000"}, "65535"},
        {{"--jobs", "0"}, "1 to"},
        {{"--nonsense"}, "--nonsense"},
        {{"--", "-l", "0"}, "dpdk"},
        {{"--port", "inproc:x"}, "no other process can reach it"},
        {{"--port", "udp", "--port", "dpdk:net_ring0"}, "no other process can reach it"},
    };
    for (const BadUse& use : uses) {
        AggregatorProcess aggregator(use.arguments);
        EXPECT_EQ(aggregator.exit_code(), 2) << use.says;
        const std::string text = aggregator.standard_error();
        EXPECT_THAT(text, HasSubstr(use.says));
        EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
    }
}

TEST(AggregatorProgram, SetUpFailuresAreExitCode1) {
    AggregatorProcess first(on_loopback);
    const nic::Endpoint taken = first.wait_until_ready();
    const std::vector<std::vector<std::string>> uses{
        {"--port", "carrier-pigeon"},
        {"--json", "/nowhere/statistics.json"},
        {"--port", "udp:bind=127.0.0.1", "--listen", std::to_string(taken.port)},
    };
    for (const auto& arguments : uses) {
        AggregatorProcess aggregator(arguments);
        EXPECT_EQ(aggregator.exit_code(), 1);
        EXPECT_THAT(aggregator.standard_error(), HasSubstr("sumwire-aggregator: "));
    }
    first.signal(SIGTERM);
    EXPECT_EQ(first.exit_code(), 0);
}

TEST(AggregatorProgram, TellsItsVersion) {
    AggregatorProcess aggregator({"--version"});
    EXPECT_EQ(aggregator.exit_code(), 0);
    EXPECT_THAT(aggregator.standard_output(), testing::StartsWith("sumwire-aggregator 0."));
}

}  // namespace
}  // namespace sumwire::apps::test
