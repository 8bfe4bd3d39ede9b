// --polling.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "apps/support/polling_option.h"

namespace sumwire::apps {
namespace {

TEST(PollingOption, ReadsEveryWay) {
    EXPECT_EQ(worker_polling("auto"), Polling::automatic);
    EXPECT_EQ(worker_polling("spin"), Polling::spin);
    EXPECT_EQ(worker_polling("yield"), Polling::yield);
    EXPECT_EQ(worker_polling("sleep"), Polling::sleep);
    EXPECT_EQ(check_polling("sleep"), "");
}

TEST(PollingOption, NamesTheWaysThatThereAre) {
    EXPECT_THAT(check_polling("busy"), testing::HasSubstr("auto, spin, yield"));
    EXPECT_THROW(worker_polling("busy"), std::invalid_argument);
}

}  // namespace
}  // namespace sumwire::apps
