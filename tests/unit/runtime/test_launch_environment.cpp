#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "runtime/communicator/launch_environment.h"
#include "runtime/communicator/resolved_options.h"
#include "sumwire/errors.h"

namespace sumwire::runtime {
namespace {

using Variables = std::map<std::string, std::string>;

auto lookup(const Variables& variables) {
    return [&variables](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
    };
}

struct Case {
    const char* name;
    Variables variables;
    int rank, world_size, local;
};

class Launchers : public testing::TestWithParam<Case> {};

TEST_P(Launchers, AreUnderstood) {
    const auto environment = read_launch_environment(lookup(GetParam().variables));
    EXPECT_EQ(environment.rank, GetParam().rank);
    EXPECT_EQ(environment.world_size, GetParam().world_size);
    EXPECT_EQ(environment.local_world_size, GetParam().local);
}

INSTANTIATE_TEST_SUITE_P(
    All, Launchers,
    testing::Values(
        Case{"torchrun", {{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_WORLD_SIZE", "4"}}, 3, 8, 4},
        Case{"openmpi",
             {{"OMPI_COMM_WORLD_RANK", "0"},
              {"OMPI_COMM_WORLD_SIZE", "2"},
              {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}},
             0,
             2,
             2},
        Case{"slurm",
             {{"SLURM_PROCID", "7"}, {"SLURM_NTASKS", "8"}, {"SLURM_TASKS_PER_NODE", "4(x2)"}},
             7,
             8,
             4},
        Case{"torchrun_inside_slurm",
             {{"RANK", "1"},
              {"WORLD_SIZE", "2"},
              {"LOCAL_WORLD_SIZE", "2"},
              {"SLURM_PROCID", "0"},
              {"SLURM_NTASKS", "1"}},
             1,
             2,
             2}),
    [](const auto& instance) { return instance.param.name; });

TEST(LaunchEnvironment, KnowsNothingWithoutALauncher) {
    const auto environment = read_launch_environment(lookup({}));
    EXPECT_FALSE(environment.rank);
    EXPECT_FALSE(environment.world_size);
}

TEST(LaunchEnvironment, NamesAVariableThatIsNoNumber) {
    for (const char* bad : {"x", "-1", "1.5", "99999999999"}) {
        try {
            read_launch_environment(lookup({{"RANK", bad}, {"WORLD_SIZE", "2"}}));
            FAIL() << bad;
        } catch (const SetupError& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr("RANK"));
            EXPECT_THAT(error.what(), testing::HasSubstr(bad));
        }
    }
}

std::string error_of(const Options& options, const Variables& variables = {}) {
    try {
        resolve(options, lookup(variables));
    } catch (const SetupError& error) {
        return error.what();
    }
    return "no error";
}

TEST(ResolvedOptions, PreferOptionsToTheEnvironment) {
    const Variables variables{{"RANK", "1"},
                              {"WORLD_SIZE", "4"},
                              {"SUMWIRE_AGGREGATOR", "127.0.0.9:7"},
                              {"SUMWIRE_JOB", "environment"}};
    Options options;
    options.rank = 2;
    options.job = "option";
    const auto resolved = resolve(options, lookup(variables));
    EXPECT_EQ(resolved.options.rank, 2);
    EXPECT_EQ(resolved.options.world_size, 4);
    EXPECT_EQ(resolved.options.job, "option");
    EXPECT_EQ(nic::to_string(resolved.aggregator), "127.0.0.9:7");
    EXPECT_FALSE(resolved.embed);
}

TEST(ResolvedOptions, EmbedAnAggregatorInRankZeroAlone) {
    const Variables variables{{"MASTER_ADDR", "127.0.0.5"}, {"MASTER_PORT", "29500"}};
    Options options;
    options.world_size = 2;
    options.rank = 0;
    const auto first = resolve(options, lookup(variables));
    ASSERT_TRUE(first.embed);
    EXPECT_EQ(first.embed->port, "udp:bind=127.0.0.5");
    EXPECT_EQ(first.embed->udp_port, 29500);
    options.rank = 1;
    const auto second = resolve(options, lookup(variables));
    EXPECT_FALSE(second.embed);
    EXPECT_EQ(nic::to_string(second.aggregator), "127.0.0.5:29500");
}

TEST(ResolvedOptions, OpenTheEmbeddedAggregatorWhereItsWorkersLookForIt) {
    struct Place {
        const char* master;
        const char* worker_port;
        const char* port;
    };
    for (const Place& expected : {
             Place{"", "udp", "udp:bind=127.0.0.1"},
             Place{"localhost", "udp;mtu=1500", "udp:bind=127.0.0.1;mtu=1500"},
             Place{"127.0.0.1", "udp:bind=10.0.0.1;offload=off", "udp:bind=127.0.0.1;offload=off"},
             Place{"10.0.0.1", "udp", "udp"},
             Place{"10.0.0.1", "udp:mtu=1500;faults=loss=0.1", "udp:mtu=1500"},
             Place{"10.0.0.1", "udp:bind=10.0.0.1:777;mtu=9000;offload=off",
                   "udp:bind=10.0.0.1;mtu=9000;offload=off"},
             Place{"10.0.0.1", "inproc:net;mtu=1500;ip=127.9.9.9",
                   "inproc:net;ip=127.0.0.1;mtu=1500"},
         }) {
        Options options;
        options.rank = 0;
        options.world_size = 2;
        options.port = expected.worker_port;
        const Variables variables{{"MASTER_ADDR", expected.master}};
        const auto resolved = resolve(options, lookup(variables));
        ASSERT_TRUE(resolved.embed);
        EXPECT_EQ(resolved.embed->port, expected.port);
    }
}

TEST(ResolvedOptions, TakeTimesThatNeverComeAndRefuseSilenceForever) {
    Options options;
    options.rank = 0;
    options.world_size = 2;
    options.deadline = options.join_timeout = std::chrono::milliseconds::max();
    EXPECT_EQ(error_of(options), "no error");
    options.peer_timeout = std::chrono::hours(24);
    EXPECT_EQ(error_of(options), "no error");
    for (const auto too_long :
         {std::chrono::milliseconds(24 * 3600 * 1000 + 1), std::chrono::milliseconds::max()}) {
        options.peer_timeout = too_long;
        EXPECT_THAT(error_of(options),
                    testing::AllOf(testing::HasSubstr("peer_timeout"),
                                   testing::HasSubstr(std::to_string(too_long.count())),
                                   testing::HasSubstr("86400000")));
    }
}

TEST(ResolvedOptions, RefuseWhatCannotWorkAndNameTheRemedy) {
    Options good;
    good.rank = 0;
    good.world_size = 2;
    using testing::AllOf;
    using testing::HasSubstr;

    EXPECT_THAT(error_of(Options{}), AllOf(HasSubstr("rank"), HasSubstr("torchrun")));
    Options bad = good;
    bad.rank = 2;
    EXPECT_THAT(error_of(bad), AllOf(HasSubstr("rank 2"), HasSubstr("world size 2")));
    bad = good;
    bad.world_size = 5000;
    EXPECT_THAT(error_of(bad), AllOf(HasSubstr("5000"), HasSubstr("1024")));
    bad = good;
    bad.payload_bytes = 100;
    EXPECT_THAT(error_of(bad), AllOf(HasSubstr("100"), HasSubstr("multiple of 64")));
    bad = good;
    bad.slots = 100;
    EXPECT_THAT(error_of(bad), AllOf(HasSubstr("100"), HasSubstr("power of two")));
    bad = good;
    bad.job = std::string(64, 'x');
    EXPECT_THAT(error_of(bad), HasSubstr("shorten"));
    bad = good;
    bad.codec = Codec::sketch;
    bad.arithmetic = Arithmetic::f32;
    EXPECT_THAT(error_of(bad), HasSubstr("fixed32"));
    bad = good;
    bad.codec = static_cast<Codec>(4);
    EXPECT_THAT(error_of(bad), AllOf(HasSubstr("codec 4"), HasSubstr("packed")));
    bad = good;
    bad.arithmetic = static_cast<Arithmetic>(200);
    EXPECT_THAT(error_of(bad), AllOf(HasSubstr("arithmetic 200"), HasSubstr("exact")));
    bad = good;
    bad.polling = static_cast<Polling>(4);
    EXPECT_THAT(error_of(bad), AllOf(HasSubstr("polling 4"), HasSubstr("spin")));
    bad = good;
    bad.deadline = std::chrono::milliseconds(0);
    EXPECT_THAT(error_of(bad), HasSubstr("deadline"));
    bad = good;
    bad.port = "dpdk:net_memif0;ip=10.0.0.1";
    EXPECT_THAT(error_of(bad), HasSubstr("sumwire-aggregator"));
    bad = good;
    bad.aggregator = "1.2.3.4:99999";
    EXPECT_THAT(error_of(bad), HasSubstr("99999"));
}

}  // namespace
}  // namespace sumwire::runtime
