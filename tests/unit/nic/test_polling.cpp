#include <gtest/gtest.h>
#include <sched.h>

#include <stdexcept>
#include <string>

#include "nic/polling.h"
#include "tests/unit/nic/scripted_port.h"

namespace sumwire::nic {
namespace {

using namespace std::chrono_literals;

constexpr int long_idle = 2000;

TEST(Polling, Texts) {
    EXPECT_EQ(parse_polling("auto"), Polling::automatic);
    EXPECT_EQ(parse_polling("spin"), Polling::spin);
    EXPECT_EQ(parse_polling("yield"), Polling::yield);
    EXPECT_EQ(parse_polling("sleep"), Polling::sleep);
    for (const char* text : {"", "Spin", "automatic", "nap"}) {
        try {
            parse_polling(text);
            FAIL() << text;
        } catch (const std::invalid_argument& error) {
            const std::string what = error.what();
            EXPECT_NE(what.find("auto, spin, yield or sleep"), std::string::npos) << what;
            EXPECT_NE(what.find("\"" + std::string(text) + "\""), std::string::npos) << what;
        }
    }
}

PortScript idle_for(Polling polling, unsigned pollers, int polls, std::chrono::microseconds limit) {
    PortScript script;
    ScriptedPort port(script);
    IdleStrategy strategy(polling, pollers);
    for (int i = 0; i < polls; ++i)
        strategy.idle(port, limit);
    return script;
}

TEST(IdleStrategy, SpinNeverWaits) {
    EXPECT_TRUE(idle_for(Polling::spin, 99, long_idle, 1000us).waits.empty());
}

TEST(IdleStrategy, SleepWaitsSoonAndForTheWholeLimit) {
    const PortScript script = idle_for(Polling::sleep, 1, 50, 1000us);
    EXPECT_GT(script.waits.size(), 20U);
    for (const auto wait : script.waits)
        EXPECT_EQ(wait, 1000us);
}

TEST(IdleStrategy, YieldNapsAfterALongIdleTimeAndEverLonger) {
    EXPECT_TRUE(idle_for(Polling::yield, 99, 200, 100ms).waits.empty());
    const PortScript script = idle_for(Polling::yield, 99, long_idle, 100ms);
    ASSERT_GT(script.waits.size(), 100U);
    EXPECT_LE(script.waits.front(), 100us);
    for (std::size_t i = 1; i < script.waits.size(); ++i) {
        EXPECT_GE(script.waits[i], script.waits[i - 1]);
        EXPECT_LE(script.waits[i], 100ms);
    }
    EXPECT_EQ(script.waits.back(), 100ms);
}

TEST(IdleStrategy, WorkStartsItOver) {
    PortScript script;
    ScriptedPort port(script);
    IdleStrategy strategy(Polling::yield, 99);
    for (int i = 0; i < long_idle; ++i)
        strategy.idle(port, 100ms);
    script.waits.clear();
    strategy.reset();
    for (int i = 0; i < 200; ++i)
        strategy.idle(port, 100ms);
    EXPECT_TRUE(script.waits.empty());
}

TEST(IdleStrategy, AutomaticGivesTheCoreAwayWhereCoresAreScarce) {
    cpu_set_t set;
    CPU_ZERO(&set);
    ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    const auto cores = static_cast<unsigned>(CPU_COUNT(&set));
    EXPECT_FALSE(idle_for(Polling::automatic, cores, long_idle, 1000us).waits.empty());
    EXPECT_FALSE(idle_for(Polling::automatic, cores + 5, long_idle, 1000us).waits.empty());
    if (cores > 1) {
        EXPECT_TRUE(idle_for(Polling::automatic, cores - 1, long_idle, 1000us).waits.empty());
    }
}

// Even with cores to spare an automatic poller that is idle for long lets go.
TEST(IdleStrategy, AutomaticNeverBurnsACoreForever) {
    EXPECT_FALSE(idle_for(Polling::automatic, 0, 200'000, 1000us).waits.empty());
}

}  // namespace
}  // namespace sumwire::nic
