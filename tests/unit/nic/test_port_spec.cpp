#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "nic/fault/fault_options.h"
#include "nic/port_spec.h"

namespace sumwire::nic {
namespace {

std::string error_of(const std::string& spec) {
    try {
        open_port(spec, {});
    } catch (const SetupError& error) {
        return error.what();
    }
    return {};
}

TEST(PortSpec, Udp) {
    EXPECT_NE(open_port("udp", {})->info().local.port, 0);
    EXPECT_EQ(open_port("udp:bind=127.0.0.1", {})->info().local.address, 0x7f000001U);
    EXPECT_EQ(open_port("udp;mtu=1500", {})->info().max_datagram, 1472U);
    EXPECT_EQ(open_port("udp:bind=127.0.0.1;mtu=9000", {})->info().max_datagram, 8972U);
    EXPECT_EQ(open_port("udp:mtu=1500", {})->info().max_datagram, 1472U);
    EXPECT_TRUE(open_port("udp", {})->info().detects_corruption);
    EXPECT_FALSE(open_port("udp;offload=off", {})->info().detects_corruption);

    PortDefaults defaults;
    defaults.udp_port = open_port("udp", {})->info().local.port;
    EXPECT_EQ(open_port("udp", defaults)->info().local.port, defaults.udp_port);
    EXPECT_EQ(open_port("udp:bind=127.0.0.1", defaults)->info().local,
              (Endpoint{0x7f000001, defaults.udp_port, 0}));
    defaults.peer = Endpoint{0x7f000001, 9, 0};
    EXPECT_EQ(open_port("udp", defaults)->info().local.address, 0x7f000001U);
}

TEST(PortSpec, ThePortInTheTextWins) {
    const auto free = open_port("udp:bind=127.0.0.1", {})->info().local.port;
    PortDefaults defaults;
    defaults.udp_port = 1;
    const auto port = open_port("udp:bind=127.0.0.1:" + std::to_string(free), defaults);
    EXPECT_EQ(port->info().local.port, free);
}

TEST(PortSpec, Inproc) {
    PortDefaults defaults;
    defaults.udp_port = 77;
    const auto a = open_port("inproc:spec", defaults);
    EXPECT_EQ(a->info().local, (Endpoint{0x7f010001, 77, 0}));
    const auto b = open_port("inproc:spec;ip=10.1.2.3;mtu=1500", defaults);
    EXPECT_EQ(b->info().local, (Endpoint{0x0a010203, 77, 0}));
    EXPECT_EQ(b->info().max_datagram, 1472U);
}

TEST(PortSpec, Faults) {
    const auto port = open_port("inproc:spec;faults=loss=0.5,corrupt=0.1,seed=3;mtu=1500", {});
    EXPECT_FALSE(port->info().detects_corruption);
    EXPECT_EQ(port->info().max_datagram, 1472U);
    EXPECT_NE(port->info().description.find("loss=0.5"), std::string::npos);
}

TEST(PortSpec, Composite) {
    const auto port = open_port("inproc:one;mtu=1500 +  inproc:two + udp:bind=127.0.0.1", {});
    EXPECT_EQ(port->info().max_datagram, 1472U);
    std::array<TxPacket, 1> burst;
    burst[0].to = {0x7f010001, 5, 1};
    EXPECT_EQ(port->transmit(burst), 1U);
}

struct Bad {
    const char* spec;
    const char* says;
};

class BadPortSpec : public ::testing::TestWithParam<Bad> {};

TEST_P(BadPortSpec, IsQuotedAndExplained) {
    const std::string what = error_of(GetParam().spec);
    EXPECT_NE(what.find("\"" + std::string(GetParam().spec) + "\""), std::string::npos) << what;
    EXPECT_NE(what.find(GetParam().says), std::string::npos) << what;
    EXPECT_NE(what.find("write for example"), std::string::npos) << what;
}

INSTANTIATE_TEST_SUITE_P(
    PortSpec, BadPortSpec,
    ::testing::Values(
        Bad{"", "no kind of port"}, Bad{"tcp", "\"tcp\" is no kind of port"},
        Bad{"UDP", "no kind of port"}, Bad{"udp:", "nothing follows"},
        Bad{"udp:127.0.0.1", "form name=value"}, Bad{"udp;", "form name=value"},
        Bad{"udp;mtu", "form name=value"}, Bad{"udp;mtu=", "has no value"},
        Bad{"udp;mtu=abc", "from 128 to 65535"}, Bad{"udp;mtu=127", "from 128 to 65535"},
        Bad{"udp;mtu=65536", "from 128 to 65535"}, Bad{"udp;mtu=1500x", "from 128 to 65535"},
        Bad{"udp;mtu=-1", "from 128 to 65535"}, Bad{"udp;mtu=1500;mtu=1500", "given twice"},
        Bad{"udp;speed=9", "option \"speed\" is unknown"},
        Bad{"udp:bind=1.2.3", "no dotted IPv4 address"},
        Bad{"udp:bind=127.0.0.1:70000", "no number from 0 to 65535"},
        Bad{"udp;offload=maybe", "neither on nor off"}, Bad{"inproc", "name is missing"},
        Bad{"inproc:", "nothing follows"}, Bad{"inproc:x;ip=host", "no dotted IPv4 address"},
        Bad{"inproc:x;bind=1.2.3.4", "option \"bind\" is unknown"},
        Bad{"inproc:x;faults=loss=2", "no probability from 0 to 1"},
        Bad{"inproc:x;faults=lost=0.1", "\"lost\" is unknown"}, Bad{"dpdk", "device is missing"},
        Bad{"dpdk:net_null0;checksum=yes", "not auto, on or off"},
        Bad{"dpdk:net_null0;port=0", "no number from 1 to 65535"},
        Bad{"dpdk:net_null0;prefix=33", "no number from 0 to 32"},
        Bad{"dpdk:net_null0;neighbor=10.0.0.2", "no IPv4 address and MAC"},
        Bad{"dpdk:net_null0;neighbor=10.0.0.2@02:00:00:00:00", "no IPv4 address and MAC"},
        Bad{"dpdk:net_null0;neighbor=10.0.0.2@01:00:00:00:00:01", "no IPv4 address and MAC"},
        Bad{"dpdk:net_null0;neighbor=10.0.0.2@02-00-00-00-00-01", "no IPv4 address and MAC"},
        Bad{"dpdk:net_null0;zero_copy=1", "neither on nor off"},
        Bad{"dpdk:net_null0;iface=eth0", "option \"iface\" is unknown"}));

TEST(PortSpec, OnlyTheWrongMemberOfACompositeIsQuoted) {
    const std::string what = error_of("inproc:a + udp;mtu=x");
    EXPECT_NE(what.find("port \"udp;mtu=x\""), std::string::npos) << what;
    EXPECT_NE(error_of("inproc:a + ").find("port \"\""), std::string::npos);
}

TEST(PortSpec, SetupErrorsOfPortsNameTheText) {
    const std::string what = error_of("udp:bind=192.0.2.1");
    EXPECT_NE(what.find("port \"udp:bind=192.0.2.1\""), std::string::npos) << what;
    EXPECT_NE(what.find("ip -4 addr"), std::string::npos) << what;
}

TEST(FaultOptions, ReadsEverything) {
    const FaultOptions options = parse_faults(
        "seed=7,loss=0.01,duplicate=0.02,reorder=0.03,corrupt=0.004,on=receive,patience=500");
    EXPECT_DOUBLE_EQ(options.loss, 0.01);
    EXPECT_DOUBLE_EQ(options.duplicate, 0.02);
    EXPECT_DOUBLE_EQ(options.reorder, 0.03);
    EXPECT_DOUBLE_EQ(options.corrupt, 0.004);
    EXPECT_EQ(options.seed, 7U);
    EXPECT_FALSE(options.on_transmit);
    EXPECT_TRUE(options.on_receive);
    EXPECT_EQ(options.patience.count(), 500);
    EXPECT_EQ(to_string(parse_faults(to_string(options))), to_string(options));
}

TEST(FaultOptions, BothDirectionsUnlessSaid) {
    EXPECT_TRUE(parse_faults("loss=1").on_transmit && parse_faults("loss=1").on_receive);
    EXPECT_FALSE(parse_faults("on=transmit").on_receive);
    EXPECT_TRUE(parse_faults("on=both").on_receive);
}

class BadFaults : public ::testing::TestWithParam<const char*> {};

TEST_P(BadFaults, AreQuotedWithAnExample) {
    try {
        parse_faults(GetParam());
        FAIL() << "accepted";
    } catch (const std::invalid_argument& error) {
        const std::string what = error.what();
        EXPECT_NE(what.find("\"" + std::string(GetParam()) + "\""), std::string::npos) << what;
        EXPECT_NE(what.find("loss=0.01,duplicate=0.02"), std::string::npos) << what;
    }
}

INSTANTIATE_TEST_SUITE_P(FaultOptions, BadFaults,
                         ::testing::Values("", "loss", "loss=", "loss=-0.1", "loss=1.1", "loss=nan",
                                           "loss=0.1x", "loss=0.1,", "loss=0.1,loss=0.1", "seed=-1",
                                           "seed=x", "on=up", "patience=99999999999", "delay=3",
                                           ",loss=0.1"));

}  // namespace
}  // namespace sumwire::nic
