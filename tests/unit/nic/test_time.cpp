#include <gtest/gtest.h>

#include "nic/time.h"

namespace sumwire {
namespace {

using namespace std::chrono_literals;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(DeadlineAfter, IsTheSumWhereTimeReachesThere) {
    EXPECT_EQ(deadline_after(5s, 10ms), 5010ms);
    EXPECT_EQ(deadline_after(5s, 0ms), 5s);
    EXPECT_EQ(deadline_after(0s, 24h), 24h);
}

TEST(DeadlineAfter, IsNeverBeyond) {
    EXPECT_EQ(deadline_after(5s, milliseconds::max()), never);
    EXPECT_EQ(deadline_after(0s, milliseconds::max()), never);
    EXPECT_EQ(deadline_after(5s, nanoseconds::max()), never);
    EXPECT_EQ(deadline_after(5s, hours::max()), never);
    EXPECT_EQ(deadline_after(0s, hours(24 * 365 * 200)), Time(hours(24 * 365 * 200)));
    EXPECT_EQ(deadline_after(-5s, milliseconds::max()), never);
    EXPECT_EQ(deadline_after(5s, std::chrono::floor<milliseconds>(never)), never);
    EXPECT_EQ(deadline_after(never, 1ms), never);
    EXPECT_EQ(deadline_after(never, 0ms), never);
}

}  // namespace
}  // namespace sumwire
