#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/engine/agreement.h"

namespace sumwire::runtime {
namespace {

AgreementMessage combine(const AgreementMessage& a, const AgreementMessage& b) {
    AgreementMessage both{};
    std::ranges::transform(a, b, both.begin(), [](std::byte x, std::byte y) { return std::max(x, y); });
    return both;
}

CollectiveCall call() {
    CollectiveCall call;
    call.count = 1000;
    call.codec = gpu::Codec::packed;
    return call;
}

std::string difference(const CollectiveCall& a, const CollectiveCall& b) {
    return difference_of(combine(write_agreement(a, {}), write_agreement(b, {})));
}

TEST(Agreement, SameCallsDifferInNothing) {
    EXPECT_EQ(difference(call(), call()), "");
}

TEST(Agreement, EveryFieldTells) {
    const auto changed = [](auto change) {
        CollectiveCall other = call();
        change(other);
        const std::string found = difference(call(), other);
        EXPECT_EQ(difference(other, call()), found);
        return found;
    };
    EXPECT_NE(changed([](auto& c) { c.count = 1001; }).find("count"), std::string::npos);
    EXPECT_NE(changed([](auto& c) { c.count = 1000 + (1ull << 40); }).find("count"),
              std::string::npos);
    EXPECT_NE(changed([](auto& c) { c.count = 0; }).find("count"), std::string::npos);
    EXPECT_NE(changed([](auto& c) { c.type = gpu::DataType::bf16; }).find("type"),
              std::string::npos);
    EXPECT_NE(changed([](auto& c) { c.reduction = gpu::Reduction::average; }).find("operation"),
              std::string::npos);
    EXPECT_NE(changed([](auto& c) { c.codec = gpu::Codec::dense; }).find("codec"),
              std::string::npos);
    EXPECT_NE(changed([](auto& c) { c.codec.reset(); }).find("codec"), std::string::npos);
    EXPECT_NE(changed([](auto& c) { c.arithmetic = gpu::Arithmetic::f32; }).find("arithmetic"),
              std::string::npos);
    EXPECT_NE(changed([](auto& c) { c.tag = 3; }).find("tag"), std::string::npos);
    EXPECT_NE(changed([](auto& c) { c.kind = CollectiveCall::Kind::barrier; }).find("barrier"),
              std::string::npos);
}

TEST(Agreement, TheSlowestLinkCounts) {
    using std::chrono::microseconds;
    const LinkCosts near(microseconds(20), 1e9);
    const LinkCosts far(microseconds(500), 12.5e9);
    const LinkCosts both = costs_of(combine(write_agreement(call(), near), write_agreement(call(), far)));
    EXPECT_NEAR(both.round_trip_seconds(), 500e-6, 500e-6 * 0.05);
    EXPECT_NEAR(both.seconds_per_byte(), 1e-9, 1e-9 * 0.05);
}

TEST(LinkCosts, AreCloseToWhatWasMeasuredOverAllScales) {
    for (const double rate : {1e5, 1.25e8, 1.25e9, 1e11}) {
        for (const int nanoseconds : {500, 20'000, 3'000'000, 900'000'000}) {
            const LinkCosts costs(std::chrono::nanoseconds(nanoseconds), rate);
            EXPECT_NEAR(costs.seconds_per_byte() * rate, 1, 0.05);
            EXPECT_NEAR(costs.round_trip_seconds() / (nanoseconds * 1e-9), 1, 0.05);
        }
    }
    const LinkCosts unmeasured;
    EXPECT_NEAR(unmeasured.round_trip_seconds(), 50e-6, 5e-6);
    EXPECT_NEAR(unmeasured.seconds_per_byte(), 0.8e-9, 0.08e-9);
    // Nothing measured yet, or nonsense, is a code all the same.
    EXPECT_EQ(LinkCosts(Time::zero(), 1e9).round_trip_code(), 0);
    EXPECT_EQ(LinkCosts(std::chrono::microseconds(1), 0.0).slowness_code(), 255);
}

}  // namespace
}  // namespace sumwire::runtime
