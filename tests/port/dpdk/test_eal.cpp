// DPDK's environment as a guest of this process.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <thread>

#include "nic/dpdk/dpdk_port.h"
#include "nic/dpdk/eal.h"
#include "tests/port/dpdk/child.h"

namespace sumwire::nic {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Sends the process's standard output and error to a file; what was written there.
class Written {
  public:
    Written() : file_(std::tmpfile()) {
        dup2(fileno(file_), STDOUT_FILENO);
        dup2(fileno(file_), STDERR_FILENO);
    }
    std::string text() const {
        std::fflush(stdout);
        std::fflush(stderr);
        std::string all(4096, '\0');
        const ssize_t count = pread(fileno(file_), all.data(), all.size(), 0);
        all.resize(static_cast<std::size_t>(count));
        return all;
    }

  private:
    std::FILE* file_;
};

std::string setup_error(const std::vector<std::string>& arguments) {
    try {
        start_eal(arguments, std::nullopt);
        return "no error";
    } catch (const SetupError& error) {
        return error.what();
    }
}

DpdkPortOptions null_port() {
    DpdkPortOptions options;
    options.device = "net_null0,no-rx=1";
    return options;
}

std::array<struct sigaction, 64> handlers() {
    std::array<struct sigaction, 64> result{};
    for (int number = 1; number < 64; ++number) {
        sigaction(number, nullptr, &result[static_cast<std::size_t>(number)]);
    }
    return result;
}

TEST(Eal, WritesNothing) {
    Child child([] {
        const Written written;
        make_dpdk_port(null_port());
        return written.text();
    });
    EXPECT_THAT(child.report(), IsEmpty());
}

TEST(Eal, OtherThreadsPrintWhileItStarts) {
    Child child([]() -> std::string {
        const Written written;
        std::atomic<bool> done = false;
        std::size_t lines = 0;
        std::thread printer([&] {
            while (!done) {
                std::printf("x\n");
                ++lines;
            }
        });
        start_eal({}, std::nullopt);
        done = true;
        printer.join();
        std::fflush(stdout);
        struct stat status {};
        fstat(STDOUT_FILENO, &status);
        if (static_cast<std::size_t>(status.st_size) == 2 * lines) return "";
        return fmt::format("{} bytes of {} lines", status.st_size, lines);
    });
    EXPECT_THAT(child.report(), IsEmpty());
}

TEST(Eal, BadArgumentsAreAnErrorWithTheRemedy) {
    for (const std::string argument : {"--nonsense", "--lcores=zz", "--iova-mode=zz"}) {
        Child child([&] {
            const Written written;
            const std::string error = setup_error({argument});
            return error + "|" + setup_error({argument}) + "|" + written.text();
        });
        const std::string report = child.report();
        const std::size_t first = report.find('|');
        EXPECT_THAT(report, HasSubstr("DPDK does not start"));
        EXPECT_THAT(report, HasSubstr(argument));
        EXPECT_THAT(report, HasSubstr("';eal='"));
        // The same error again, and nothing written.
        EXPECT_EQ(report.back(), '|') << report;
        EXPECT_EQ(report.find("DPDK does not start", first) != std::string::npos, true);
    }
}

TEST(Eal, HelpIsRefused) {
    Child child([] { return setup_error({"--help"}); });
    EXPECT_THAT(child.report(), HasSubstr("ends the program"));
}

TEST(Eal, LeavesThreadsAndSignalsAlone) {
    Child child([]() -> std::string {
        cpu_set_t before;
        cpu_set_t after;
        sigset_t mask_before;
        sigset_t mask_after;
        sched_getaffinity(0, sizeof before, &before);
        pthread_sigmask(SIG_SETMASK, nullptr, &mask_before);
        const auto handlers_before = handlers();
        const auto port = make_dpdk_port(null_port());
        std::array<RxPacket, 1> burst;
        port->receive(burst);
        sched_getaffinity(0, sizeof after, &after);
        pthread_sigmask(SIG_SETMASK, nullptr, &mask_after);
        const auto handlers_after = handlers();
        if (!CPU_EQUAL(&before, &after)) return "affinity changed";
        std::thread([&] { sched_getaffinity(0, sizeof after, &after); }).join();
        if (!CPU_EQUAL(&before, &after)) return "a new thread's affinity changed";
        for (std::size_t number = 1; number < handlers_before.size(); ++number) {
            if (handlers_before[number].sa_handler != handlers_after[number].sa_handler) {
                return fmt::format("handler of signal {} changed", number);
            }
            if (sigismember(&mask_before, static_cast<int>(number)) !=
                sigismember(&mask_after, static_cast<int>(number))) {
                return fmt::format("mask of signal {} changed", number);
            }
        }
        return "";
    });
    EXPECT_THAT(child.report(), IsEmpty());
}

TEST(Eal, StartsOnlyWhereTheProcessMayRun) {
    Child child([]() -> std::string {
        cpu_set_t one;
        CPU_ZERO(&one);
        cpu_set_t all;
        sched_getaffinity(0, sizeof all, &all);
        int last = 0;
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &all)) last = cpu;
        }
        CPU_SET(last, &one);
        sched_setaffinity(0, sizeof one, &one);
        make_dpdk_port(null_port());
        return "";
    });
    EXPECT_THAT(child.report(), IsEmpty());
}

TEST(Eal, ProcessesCoexist) {
    std::deque<Child> children;
    for (int i = 0; i < 4; ++i) {
        children.emplace_back([]() -> std::string {
            const auto port = make_dpdk_port(null_port());
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            return port->info().max_datagram == 1472 ? "" : "odd port";
        });
    }
    for (Child& child : children)
        EXPECT_THAT(child.report(), IsEmpty());
}

TEST(Eal, StartsOnceFromManyThreads) {
    Child child([]() -> std::string {
        std::vector<std::thread> threads;
        std::atomic<int> failures = 0;
        for (int i = 0; i < 8; ++i) {
            threads.emplace_back([&, i] {
                try {
                    DpdkPortOptions options;
                    options.device = fmt::format("net_null{},no-rx=1", i);
                    make_dpdk_port(options);
                } catch (const SetupError&) {
                    ++failures;
                }
            });
        }
        for (std::thread& thread : threads)
            thread.join();
        return failures == 0 ? "" : fmt::format("{} failures", failures.load());
    });
    EXPECT_THAT(child.report(), IsEmpty());
}

TEST(Eal, DoesNotSurviveAForkAndSaysSo) {
    Child child([] {
        start_eal({}, std::nullopt);
        return Child([] { return setup_error({}); }).report();
    });
    EXPECT_THAT(child.report(), HasSubstr("before this process was forked"));
}

TEST(Eal, ArgumentsComeFirst) {
    Child child([]() -> std::string {
        set_eal_arguments({"--no-huge", "-m", "64"});
        start_eal({"--log-level=lib.eal:debug"}, std::nullopt);
        start_eal({}, std::nullopt);
        start_eal({"--log-level=lib.eal:debug"}, std::nullopt);
        try {
            set_eal_arguments({});
        } catch (const SetupError& error) {
            return error.what();
        }
        return "accepted";
    });
    EXPECT_THAT(child.report(), HasSubstr("before the first DPDK port"));
}

TEST(Eal, LogsWhereTheProgramWants) {
    Child child([]() -> std::string {
        const Written written;
        std::size_t lines = 0;
        set_eal_log([&](std::string_view line) { lines += line.empty() ? 0 : 1; });
        start_eal({"--log-level=lib.eal:debug"}, std::nullopt);
        set_eal_log({});
        return lines > 5 ? written.text() : fmt::format("{} lines", lines);
    });
    EXPECT_THAT(child.report(), IsEmpty());
}

TEST(Eal, TheProgramsLogMayPrint) {
    Child child([]() -> std::string {
        const Written written;
        set_eal_log([](std::string_view) { std::fputs("!", stderr); });
        make_dpdk_port(null_port());
        auto options = null_port();
        options.device = "net_nonsense0";
        try {
            make_dpdk_port(options);
        } catch (const SetupError&) {
        }
        return written.text().starts_with("!") ? "" : written.text();
    });
    EXPECT_THAT(child.report(), IsEmpty());
}

TEST(Eal, TooLittleMemoryIsAnErrorWithTheRemedy) {
    Child child([]() -> std::string {
        auto options = null_port();
        options.eal_arguments = "--no-huge -m 8";
        try {
            make_dpdk_port(options);
        } catch (const SetupError& error) {
            return error.what();
        }
        return "accepted";
    });
    EXPECT_THAT(child.report(), HasSubstr("no room for"));
}

}  // namespace
}  // namespace sumwire::nic
