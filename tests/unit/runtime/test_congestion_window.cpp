#include <gtest/gtest.h>

#include "runtime/session/congestion_window.h"

namespace sumwire::runtime {
namespace {

using namespace std::chrono_literals;

constexpr Time round_trip = 1ms;

// One round trip with so many results and losses; the clock moves on.
void pass(CongestionWindow& window, Time& now, unsigned results, unsigned losses) {
    for (unsigned i = 0; i < results; ++i)
        window.on_result();
    for (unsigned i = 0; i < losses; ++i)
        window.on_loss();
    now += round_trip;
    window.judge(now, round_trip);
}

TEST(CongestionWindow, DoublesEachRoundTripUpToTheSlots) {
    CongestionWindow window(256);
    Time now = 1s;
    EXPECT_EQ(window.packets(), 64U);
    pass(window, now, 64, 0);
    EXPECT_EQ(window.packets(), 128U);
    pass(window, now, 1000, 0);
    EXPECT_EQ(window.packets(), 256U);
    EXPECT_EQ(CongestionWindow(8).packets(), 8U);
}

TEST(CongestionWindow, RepairsSingleLossesAtFullSpeed) {
    CongestionWindow window(256);
    Time now = 1s;
    for (int i = 0; i < 20; ++i)
        pass(window, now, 200, 10);
    EXPECT_EQ(window.packets(), 256U);
}

TEST(CongestionWindow, ShrinksWhenAnEighthIsLostAndThenGrowsSlowly) {
    CongestionWindow window(256);
    Time now = 1s;
    pass(window, now, 200, 0);
    ASSERT_EQ(window.packets(), 256U);
    pass(window, now, 100, 100);
    EXPECT_EQ(window.packets(), 179U);  // 0.7 of it
    pass(window, now, 179, 0);
    EXPECT_NEAR(window.packets(), 180, 1);
    for (int i = 0; i < 30; ++i)
        pass(window, now, 10, 90);
    EXPECT_EQ(window.packets(), 8U);
}

TEST(CongestionWindow, JudgesOnceInARoundTrip) {
    CongestionWindow window(256);
    Time now = 1s;
    pass(window, now, 200, 0);
    pass(window, now, 10, 90);
    const std::uint32_t once = window.packets();
    for (int i = 0; i < 10; ++i) {
        for (int k = 0; k < 9; ++k)
            window.on_loss();
        window.judge(now + 10us, round_trip);
    }
    EXPECT_EQ(window.packets(), once);
}

}  // namespace
}  // namespace sumwire::runtime
