// Counters that tell of a mistake are explained.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/aggregator/hints.h"

namespace sumwire::apps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(AggregatorHints, AreNotGivenWithoutCause) {
    aggregator::LoopStatistics statistics;
    statistics.aggregator.joins = 4;
    statistics.aggregator.jobs_started = 1;
    EXPECT_THAT(hints(statistics), IsEmpty());
}

TEST(AggregatorHints, ExplainFramesThatThePortDropped) {
    aggregator::LoopStatistics statistics;
    statistics.port.rx_malformed = 17;
    EXPECT_THAT(hints(statistics),
                ElementsAre(testing::AllOf(HasSubstr("17 frames"), HasSubstr("offload=off"))));
}

TEST(AggregatorHints, ExplainDatagramsThatTheAggregatorDropped) {
    aggregator::LoopStatistics statistics;
    statistics.aggregator.malformed = 3;
    EXPECT_THAT(hints(statistics), ElementsAre(HasSubstr("3 datagrams were malformed")));
}

TEST(AggregatorHints, ExplainAJobThatNeverFormed) {
    aggregator::LoopStatistics statistics;
    statistics.aggregator.joins = 2;
    EXPECT_THAT(hints(statistics), ElementsAre(HasSubstr("start every rank")));
}

}  // namespace
}  // namespace sumwire::apps
