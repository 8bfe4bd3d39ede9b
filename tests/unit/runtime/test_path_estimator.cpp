#include <gtest/gtest.h>

#include "runtime/session/path_estimator.h"

namespace sumwire::runtime {
namespace {

using namespace std::chrono_literals;

TEST(PathEstimator, KnowsNothingAtFirst) {
    PathEstimator path;
    EXPECT_FALSE(path.known());
    path.on_result(1000);
    path.sample(5ms, 0, 5ms);  // no time has passed: no rate
    EXPECT_FALSE(path.known());
}

// Ten packets of 1,000 bytes a millisecond, each one 3 ms under way.
TEST(PathEstimator, MeasuresASteadyStream) {
    PathEstimator path;
    std::uint64_t delivered_at[1000] = {};
    for (int i = 0; i < 1000; ++i) {
        const Time sent = i * 100us;
        delivered_at[i] = path.delivered();
        if (i < 30) continue;
        path.on_result(1000);
        path.sample(sent - 3ms, delivered_at[i - 30], sent);
    }
    ASSERT_TRUE(path.known());
    EXPECT_EQ(path.round_trip(), 3ms);
    EXPECT_NEAR(path.bytes_per_second(), 1e7, 1e6);
}

TEST(PathEstimator, ForgetsWhatWasLongAgo) {
    PathEstimator path;
    Time now = 1s;
    const auto stream = [&](Time round_trip, std::uint64_t bytes, Time lasting) {
        for (const Time end = now + lasting; now < end; now += 1ms) {
            const std::uint64_t then = path.delivered();
            path.on_result(bytes);
            path.sample(now - round_trip, then, now);
        }
    };
    stream(1ms, 100'000, 200ms);
    EXPECT_EQ(path.round_trip(), 1ms);
    EXPECT_NEAR(path.bytes_per_second(), 1e8, 1);
    stream(4ms, 40'000, 50ms);
    EXPECT_EQ(path.round_trip(), 1ms);
    stream(4ms, 40'000, 400ms);
    EXPECT_EQ(path.round_trip(), 4ms);
    EXPECT_NEAR(path.bytes_per_second(), 1e7, 1);
}

// A pause between two steps leaves the last step's values.
TEST(PathEstimator, KeepsWhatItKnowsOverAPause) {
    PathEstimator path;
    path.on_result(1000);
    path.sample(0ms, 0, 1ms);
    const std::uint64_t then = path.delivered();
    path.on_result(10);
    path.sample(10s, then, 10s + 2ms);
    EXPECT_EQ(path.round_trip(), 1ms);
    EXPECT_NEAR(path.bytes_per_second(), 1e6, 1);
}

}  // namespace
}  // namespace sumwire::runtime
