// Processes, their environment, their output and their ends. No aggregator is started here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "apps/support/descriptor.h"
#include "apps/support/launch_error.h"
#include "apps/support/launcher.h"
#include "tests/unit/apps/scratch.h"

namespace sumwire::apps {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

LaunchOptions shell(unsigned workers, const std::string& script) {
    LaunchOptions options;
    options.workers.assign(workers, {.arguments = {"sh", "-c", script}, .inherited = {}});
    options.aggregator = "127.0.0.1:9";  // none is needed
    return options;
}

struct Captured {
    LaunchResult result;
    std::string output;
    std::string error;
};

Captured run(const LaunchOptions& options) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Captured captured;
    captured.result = launch(options);
    captured.output = testing::internal::GetCapturedStdout();
    captured.error = testing::internal::GetCapturedStderr();
    return captured;
}

TEST(Launcher, GivesEachWorkerItsPlace) {
    auto options = shell(2,
                         "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $SUMWIRE_AGGREGATOR "
                         "$SUMWIRE_PORT $SUMWIRE_JOB");
    options.job = "j";
    options.faults = "loss=0.5";
    options.mtu = 600;
    const auto captured = run(options);
    EXPECT_TRUE(captured.result.ok());
    for (const char* line :
         {"[rank 0] 0 2 0 2 127.0.0.1:9 udp:bind=127.0.0.1;mtu=600;faults=loss=0.5 j\n",
          "[rank 1] 1 2 1 2 127.0.0.1:9 udp:bind=127.0.0.1;mtu=600;faults=loss=0.5 j\n"})
        EXPECT_THAT(captured.output, HasSubstr(line));
}

TEST(Launcher, EmbeddedWorkersFindAPortAndNoAggregator) {
    auto options = shell(1, "echo \"<$SUMWIRE_AGGREGATOR> $MASTER_ADDR\"; test $MASTER_PORT -gt 0");
    options.aggregator.clear();
    options.embedded = true;
    setenv("SUMWIRE_AGGREGATOR", "elsewhere", 1);
    const auto captured = run(options);
    unsetenv("SUMWIRE_AGGREGATOR");
    EXPECT_TRUE(captured.result.ok());
    EXPECT_EQ(captured.output, "[rank 0] <> 127.0.0.1\n");
}

TEST(Launcher, MarksWholeLinesOfBothStreams) {
    const auto captured = run(shell(1, "printf 'a\\nb'; printf 'c\\n' >&2; printf 'd'"));
    EXPECT_EQ(captured.output, "[rank 0] a\n[rank 0] bd\n");
    EXPECT_EQ(captured.error, "[rank 0] c\n");
}

TEST(Launcher, PassesOutputThroughUnmarked) {
    auto options = shell(1, "printf 'a\\nb'; head -c 300000 /dev/zero");
    options.prefix_output = false;
    EXPECT_EQ(run(options).output, "a\nb" + std::string(300000, '\0'));
}

TEST(Launcher, HasNoInputForWorkers) {
    EXPECT_TRUE(run(shell(2, "! read line")).result.ok());
}

TEST(Launcher, PassesDescriptorsOnToTheirOwner) {
    const Descriptor memory(memfd_create("test", MFD_CLOEXEC));
    auto options = shell(2, "");
    for (unsigned rank = 0; rank < 2; ++rank) {
        const auto number = std::to_string(memory.get());
        const std::string script =
            rank == 0 ? "echo x >&" + number : "! test -e /proc/$$/fd/" + number;
        options.workers[rank].arguments.back() = script;
    }
    options.workers[0].inherited = {memory.get()};
    EXPECT_TRUE(run(options).result.ok());
    EXPECT_EQ(lseek(memory.get(), 0, SEEK_END), 2);
}

TEST(Launcher, TellsHowWorkersFailed) {
    const auto captured =
        run(shell(3, "case $RANK in 0) exit 0;; 1) exit 3;; 2) kill -KILL $$;; esac"));
    EXPECT_THAT(captured.result.failures,
                testing::UnorderedElementsAre("rank 1 exited with status 3",
                                              "rank 2 was killed by SIGKILL (Killed)"));
}

TEST(Launcher, GivesTheOthersTimeToFailThemselves) {
    // Rank 0 hears of rank 1's end as a peer would, and then says so.
    const TemporaryDirectory directory;
    const auto pipe = (directory.path() / "pipe").string();
    ASSERT_EQ(system(("mkfifo " + pipe).c_str()), 0);
    const auto captured =
        run(shell(2, "if [ $RANK = 1 ]; then exec 3>" + pipe + "; exit 5; fi; cat " + pipe +
                         "; echo rank 1 is lost >&2; exit 6"));
    EXPECT_THAT(captured.result.failures,
                testing::UnorderedElementsAre("rank 1 exited with status 5",
                                              "rank 0 exited with status 6"));
    EXPECT_EQ(captured.error, "[rank 0] rank 1 is lost\n");
}

TEST(Launcher, EndsThoseThatDoNotFailByThemselves) {
    auto options = shell(2, "if [ $RANK = 1 ]; then exit 1; fi; exec sleep 1000");
    options.grace = 200ms;
    EXPECT_THAT(run(options).result.failures,
                ElementsAre("rank 1 exited with status 1",
                            "rank 0 did not end by itself within 0.2 s and was stopped"));
}

TEST(Launcher, EndsWhatAWorkerLeavesBehind) {
    const TemporaryDirectory directory;
    const auto file = (directory.path() / "pid").string();
    EXPECT_TRUE(run(shell(1, "sleep 1000 & echo $! >" + file)).result.ok());
    pid_t left = 0;
    std::ifstream(file) >> left;
    ASSERT_GT(left, 0);
    const auto limit = std::chrono::steady_clock::now() + 10s;
    const auto ended = [&] {
        std::string state;
        std::ifstream(("/proc/" + std::to_string(left) + "/stat")) >> state >> state >> state;
        return state.empty() || state == "Z";
    };
    while (!ended() && std::chrono::steady_clock::now() < limit)
        std::this_thread::yield();
    EXPECT_TRUE(ended());
}

TEST(Launcher, EndsOnRequest) {
    const TemporaryDirectory directory;
    const auto file = (directory.path() / "started").string();
    // Waits for the worker, then interrupts this very process.
    const std::string interrupt =
        "(until [ -e " + file + " ]; do :; done; kill -TERM " + std::to_string(getpid()) + ") &";
    ASSERT_EQ(system(interrupt.c_str()), 0);
    const auto captured =
        run(shell(2, "touch " + file + "; trap '' TERM; while :; do sleep 0.1; done"));
    EXPECT_EQ(captured.result.interrupted_by, SIGTERM);
    EXPECT_THAT(captured.result.failures, IsEmpty());
}

TEST(Launcher, RefusesWhatCannotWork) {
    const auto error = [](const LaunchOptions& options) {
        return message_of<LaunchError>([&] { launch(options); });
    };
    EXPECT_THAT(error({}), HasSubstr("no worker"));
    auto missing = shell(1, "");
    missing.workers[0].arguments = {"./not-there"};
    EXPECT_THAT(error(missing),
                AllOf(HasSubstr("cannot start './not-there'"), HasSubstr("No such file")));
    auto threads = shell(1, "");
    threads.transport = Transport::inproc;
    EXPECT_THAT(error(threads), HasSubstr("udp, memif or veth"));
    auto memif = shell(1, "");
    memif.transport = Transport::memif;
    EXPECT_THAT(error(memif), HasSubstr("--transport udp"));
    auto both = shell(1, "");
    both.embedded = true;
    EXPECT_THAT(error(both), HasSubstr("choose one"));
}

TEST(Transport, IsReadByName) {
    for (const auto transport :
         {Transport::inproc, Transport::udp, Transport::memif, Transport::veth})
        EXPECT_EQ(parse_transport(to_string(transport)), transport);
    EXPECT_THAT(message_of<std::invalid_argument>([] { parse_transport("tcp"); }),
                AllOf(HasSubstr("'tcp'"), HasSubstr("memif")));
}

TEST(Transport, MemifHasALinkForEachWorker) {
    const auto plan = plan_transport(Transport::memif, 2, 1500, "/d");
    const auto split = plan.aggregator_port.find(" + ");
    ASSERT_NE(split, std::string::npos);
    ASSERT_EQ(plan.worker_ports.size(), 2U);
    for (const auto& [server, client, id] :
         {std::tuple(plan.aggregator_port.substr(0, split), plan.worker_ports[0], "0"),
          std::tuple(plan.aggregator_port.substr(split + 3), plan.worker_ports[1], "1")}) {
        EXPECT_THAT(server, AllOf(HasSubstr("role=server"), HasSubstr(",id=" + std::string(id))));
        EXPECT_THAT(client, AllOf(HasSubstr("role=client"), HasSubstr(",id=" + std::string(id))));
        for (const auto& port : {server, client})
            EXPECT_THAT(port, AllOf(HasSubstr("socket=/d/memif.sock,socket-abstract=no"),
                                    HasSubstr(";mtu=1500")));
    }
    EXPECT_NE(plan.worker_ports[0].substr(plan.worker_ports[0].find(";ip=")),
              plan.worker_ports[1].substr(plan.worker_ports[1].find(";ip=")));
    EXPECT_THROW(plan_transport(Transport::memif, 251, 0, "/d"), LaunchError);
}

}  // namespace
}  // namespace sumwire::apps
