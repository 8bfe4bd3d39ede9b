#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "nic/endpoint.h"

namespace sumwire::nic {
namespace {

TEST(Endpoint, ReadsAddressAndPort) {
    EXPECT_EQ(parse_endpoint("10.1.2.3:4567"), (Endpoint{0x0a010203, 4567, 0}));
    EXPECT_EQ(parse_endpoint("10.1.2.3"), (Endpoint{0x0a010203, 21335, 0}));
    EXPECT_EQ(parse_endpoint("10.1.2.3", 99), (Endpoint{0x0a010203, 99, 0}));
    EXPECT_EQ(parse_endpoint("255.255.255.255:65535"), (Endpoint{0xffffffff, 65535, 0}));
}

TEST(Endpoint, ResolvesNames) {
    EXPECT_EQ(parse_endpoint("localhost:7"), (Endpoint{0x7f000001, 7, 0}));
}

TEST(Endpoint, PrintsWhatItReads) {
    EXPECT_EQ(to_string(Endpoint{0x0a010203, 4567, 3}), "10.1.2.3:4567");
    EXPECT_EQ(to_string(parse_endpoint("192.168.0.1:1")), "192.168.0.1:1");
}

class BadEndpoint : public ::testing::TestWithParam<const char*> {};

TEST_P(BadEndpoint, IsQuotedInTheError) {
    try {
        parse_endpoint(GetParam());
        FAIL() << "accepted";
    } catch (const std::invalid_argument& error) {
        const std::string what = error.what();
        EXPECT_NE(what.find("\"" + std::string(GetParam()) + "\""), std::string::npos) << what;
        EXPECT_NE(what.find("10.0.0.1:21335"), std::string::npos) << what;
    }
}

INSTANTIATE_TEST_SUITE_P(Endpoint, BadEndpoint,
                         ::testing::Values("", ":1", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:65536",
                                           "10.0.0.1:-1", "10.0.0.1:1x", "10.0.0.1:1:2", "10.1",
                                           "10.0.0.256", "1.2.3.4.5", "no-such-host.invalid:1"));

}  // namespace
}  // namespace sumwire::nic
