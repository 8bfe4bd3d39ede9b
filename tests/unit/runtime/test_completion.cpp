#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/engine/completion.h"
#include "runtime/progress_thread.h"
#include "sumwire/errors.h"

namespace sumwire::runtime {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Completions : public testing::Test {
  protected:
    std::vector<std::string> warnings_;
    Completion completion_{std::make_shared<Log>([this](LogLevel level, std::string_view text) {
        if (level == LogLevel::warning) warnings_.emplace_back(text);
    })};
    const std::exception_ptr failure_ = std::make_exception_ptr(std::runtime_error("broken"));
};

TEST_F(Completions, CallEveryCallbackThoughOthersThrow) {
    for (const std::exception_ptr& outcome : {std::exception_ptr(), failure_}) {
        Completion completion(std::make_shared<Log>(
            [this](LogLevel, std::string_view text) { warnings_.emplace_back(text); }));
        warnings_.clear();
        std::vector<std::exception_ptr> seen;
        completion.then([](const std::exception_ptr&) { throw std::runtime_error("first"); });
        completion.then([&](const std::exception_ptr& failure) { seen.push_back(failure); });
        completion.then([](const std::exception_ptr&) { throw 3; });
        completion.then([&](const std::exception_ptr& failure) { seen.push_back(failure); });
        completion.finish(outcome);
        EXPECT_THAT(seen, ElementsAre(outcome, outcome));
        EXPECT_THAT(warnings_, ElementsAre(AllOf(HasSubstr("Work::then"), HasSubstr("first")),
                                           HasSubstr("no std::exception")));
        EXPECT_TRUE(completion.done());
    }
}

TEST_F(Completions, CatchWhatACallbackThrowsThatComesLate) {
    completion_.finish(nullptr);
    completion_.then([](const std::exception_ptr&) { throw std::runtime_error("late"); });
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("late")));
}

TEST_F(Completions, SurviveALogThatThrows) {
    Completion completion(std::make_shared<Log>(
        [](LogLevel, std::string_view) { throw std::runtime_error("no log either"); }));
    bool called = false;
    completion.then([](const std::exception_ptr&) { throw 1; });
    completion.then([&](const std::exception_ptr&) { called = true; });
    completion.finish(nullptr);
    EXPECT_TRUE(called);
}

TEST_F(Completions, RethrowTheFailureToEveryWaiter) {
    completion_.finish(failure_);
    EXPECT_THROW(completion_.wait(), std::runtime_error);
    EXPECT_THROW(completion_.wait_for(0ms), std::runtime_error);
    EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(Completions, AreWaitedForAsLongAsAskedFor) {
    EXPECT_FALSE(completion_.wait_for(1ms));
    EXPECT_FALSE(completion_.wait_for(-1ns));
    std::thread other([this] {
        std::this_thread::sleep_for(50ms);
        completion_.finish(nullptr);
    });
    EXPECT_TRUE(completion_.wait_for(std::chrono::nanoseconds::max()));
    other.join();
}

TEST_F(Completions, RefuseToWaitForThemselves) {
    std::string refusal;
    std::thread progress([&] {
        mark_progress_thread();
        completion_.then([](const std::exception_ptr&) {});
        try {
            completion_.wait();
        } catch (const Error& error) {
            refusal = error.what();
        }
        EXPECT_FALSE(completion_.wait_for(0ns));
        EXPECT_THROW(completion_.wait_for(1ms), Error);
        completion_.finish(nullptr);
        completion_.wait();  // has ended, so nothing is waited for
    });
    progress.join();
    EXPECT_THAT(refusal, AllOf(HasSubstr("Work::then"), HasSubstr("another thread")));
}

}  // namespace
}  // namespace sumwire::runtime
