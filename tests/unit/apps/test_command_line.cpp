// sumwire-run's command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apps/run/command_line.h"

namespace sumwire::apps {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::optional<RunOptions> parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "sumwire-run");
    return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

TEST(RunCommandLine, TakesGradients) {
    const auto options =
        parse({"--gradients", "a.npy", "b.npy", "--workers", "2", "--codec", "sketch",
               "--arithmetic", "fixed32", "--op", "average", "--deadline", "2.5", "--transport",
               "memif", "--payload", "1024", "--mtu", "1500"});
    ASSERT_TRUE(options);
    EXPECT_THAT(options->gradients, ElementsAre("a.npy", "b.npy"));
    EXPECT_EQ(options->workers, 2U);
    ASSERT_EQ(options->choices.size(), 1U);
    EXPECT_EQ(options->choices[0].codec, Codec::sketch);
    EXPECT_EQ(options->choices[0].arithmetic, Arithmetic::fixed32);
    EXPECT_EQ(options->op, ReduceOp::average);
    EXPECT_EQ(options->deadline, std::chrono::milliseconds(2500));
    EXPECT_EQ(options->transport, Transport::memif);
    EXPECT_EQ(options->payload_bytes, 1024U);
    EXPECT_EQ(options->mtu, 1500U);
}

TEST(RunCommandLine, UsuallyTheCodecIsAutomaticAndTheSumExactOverUdp) {
    const auto options = parse({"--gradients", "d"});
    ASSERT_TRUE(options);
    ASSERT_EQ(options->choices.size(), 1U);
    EXPECT_EQ(options->choices[0].codec, Codec::automatic);
    EXPECT_EQ(options->choices[0].arithmetic, Arithmetic::exact);
    EXPECT_EQ(options->transport, Transport::udp);
    EXPECT_FALSE(options->workers);
    EXPECT_FALSE(options->step);
    EXPECT_FALSE(options->deadline);
}

TEST(RunCommandLine, TakesSeveralCodecsAndArithmetics) {
    EXPECT_EQ(parse({"--gradients", "d", "--codec", "all"})->choices.size(), 4U);
    EXPECT_EQ(parse({"--gradients", "d", "--codec", "all", "--arithmetic", "all"})->choices.size(),
              11U);
    EXPECT_EQ(parse({"--gradients", "d", "--codec", "dense,packed", "--arithmetic", "exact,f32"})
                  ->choices.size(),
              4U);
}

TEST(RunCommandLine, TakesEveryOperation) {
    EXPECT_EQ(parse({"--gradients", "d", "--op", "minimum"})->op, ReduceOp::minimum);
    EXPECT_EQ(parse({"--gradients", "d", "--op", "maximum"})->op, ReduceOp::maximum);
}

TEST(RunCommandLine, LeavesAProgramsArgumentsAlone) {
    const auto options = parse({"--workers", "3", "--", "./a", "--workers", "9", "--"});
    ASSERT_TRUE(options);
    EXPECT_THAT(options->program, ElementsAre("./a", "--workers", "9", "--"));
    EXPECT_EQ(options->workers, 3U);
}

struct Wrong {
    std::vector<const char*> arguments;
    std::string message;
};

TEST(RunCommandLine, NamesTheRemedyInOneLine) {
    const std::vector<Wrong> table{
        {{}, "give --gradients DIR, or -- PROGRAM"},
        {{"--gradients", "d", "--", "./a"}, "leave one out"},
        {{"./a"}, "put -- before a program"},
        {{"--nonsense"}, "see sumwire-run --help"},
        {{"--gradients", "d", "--workers", "0"}, "--workers"},
        {{"--gradients", "d", "--workers", "1025"}, "--workers"},
        {{"--gradients", "d", "--workers", "two"}, "--workers"},
        {{"--gradients", "d", "--transport", "tcp"}, "choose inproc, udp, memif or veth"},
        {{"--gradients", "d", "--codec", "zip"}, "choose auto, dense, packed, sketch"},
        {{"--gradients", "d", "--arithmetic", "f64"}, "choose exact, f32, fixed32"},
        {{"--gradients", "d", "--op", "max"}, "choose sum, average, minimum, maximum"},
        {{"--gradients", "d", "--polling", "busy"}, "auto, spin, yield or sleep"},
        {{"--gradients", "d", "--codec", "sketch", "--arithmetic", "f32"}, "sketch needs integers"},
        {{"--gradients", "d", "--payload", "100"}, "multiple of 64"},
        {{"--gradients", "d", "--payload", "65536"}, "up to 65472"},
        {{"--gradients", "d", "--mtu", "10"}, "--mtu"},
        {{"--gradients", "d", "--iterations", "0"}, "--iterations"},
        {{"--gradients", "d", "--deadline", "0"}, "give seconds"},
        {{"--gradients", "d", "--deadline", "nan"}, "give seconds"},
        {{"--gradients", "d", "--faults", "loss=2"}, "loss"},
        {{"--gradients", "d", "--embedded", "--aggregator", "h:1"}, "exclude each other"},
        {{"--gradients", "d", "--embedded", "--transport", "memif"}, "use --transport udp"},
        {{"--gradients", "d", "--aggregator", "h:1", "--transport", "veth"}, "use --transport udp"},
        {{"--gradients", "d", "--aggregator", "h:1", "--transport", "inproc"},
         "leave --aggregator"},
        {{"--transport", "inproc", "--", "./a"}, "choose udp, memif or veth"},
        {{"--codec", "dense", "--", "./a"}, "--codec is for --gradients"},
        {{"--output", "d", "--", "./a"}, "--output is for --gradients"},
    };
    for (const auto& [arguments, message] : table) {
        std::string all;
        for (const char* argument : arguments)
            all += std::string(argument) + ' ';
        try {
            parse(arguments);
            ADD_FAILURE() << all << "was taken";
        } catch (const UsageError& error) {
            EXPECT_THAT(std::string(error.what()), HasSubstr(message)) << all;
            EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << all;
        }
    }
}

}  // namespace
}  // namespace sumwire::apps
