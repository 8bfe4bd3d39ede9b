// What happens when the thread of an embedded aggregator ends ahead of time. This program defines
// share_embedded_aggregator itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "nic/port_spec.h"
#include "runtime/communicator/embedded_aggregator.h"
#include "sumwire/communicator.h"
#include "switch_emu/embedded_aggregator.h"

namespace sumwire::runtime {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

// Fails when its first job has started.
class FailingAggregator : public EmbeddedAggregator {
  public:
    explicit FailingAggregator(const EmbeddedAggregatorConfig& config)
        : aggregator_(nic::open_port(config.port, {.udp_port = config.udp_port, .peer = {}}),
                      options()) {}
    ~FailingAggregator() override { aggregator_.finish(60s); }

    std::exception_ptr failure() const override { return aggregator_.failure(); }

  private:
    static aggregator::AggregatorLoop::Options options() {
        aggregator::AggregatorLoop::Options options;
        options.observer = [](const aggregator::JobEvent&) {
            throw std::runtime_error("out of cheese");
        };
        return options;
    }

    aggregator::EmbeddedAggregator aggregator_;
};

}  // namespace

std::shared_ptr<EmbeddedAggregator> share_embedded_aggregator(
    const EmbeddedAggregatorConfig& config) {
    return std::make_shared<FailingAggregator>(config);
}

namespace {

TEST(FailingEmbeddedAggregator, EndsItsCommunicatorAndNotTheProcess) {
    Options options;
    options.rank = 0;
    options.world_size = 1;
    options.port = "inproc:failing";
    std::vector<std::string> warnings;
    options.log = [&](LogLevel level, std::string_view text) {
        if (level == LogLevel::warning) warnings.emplace_back(text);
    };
    const auto begin = std::chrono::steady_clock::now();
    try {
        auto communicator = Communicator::create(options);
        communicator.barrier();
        FAIL() << "nobody serves";
    } catch (const AggregatorLost& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("out of cheese"), HasSubstr("rank 0 of 1")));
    }
    EXPECT_THAT(warnings, Contains(HasSubstr("out of cheese")));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s) << "it waited for what cannot come";
}

TEST(FailingEmbeddedAggregator, RefusesStatistics) {
    aggregator::AggregatorLoop::Options options;
    options.observer = [](const aggregator::JobEvent&) { throw std::runtime_error("no"); };
    aggregator::EmbeddedAggregator aggregator(
        nic::open_port("inproc:counting;ip=127.0.0.1", {.udp_port = 5, .peer = {}}), options);
    EXPECT_EQ(aggregator.failure(), nullptr);
    EXPECT_EQ(aggregator.statistics().aggregator.jobs_started, 0U);

    Options worker;
    worker.rank = 0;
    worker.world_size = 1;
    worker.port = "inproc:counting";
    worker.aggregator = "127.0.0.1:5";
    worker.join_timeout = 300ms;
    EXPECT_THROW(Communicator::create(worker), SetupError);
    EXPECT_NE(aggregator.failure(), nullptr);
    EXPECT_THROW(aggregator.statistics(), std::runtime_error);
    aggregator.finish(60s);
}

}  // namespace
}  // namespace sumwire::runtime
