#include "apps/support/launcher.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <optional>
#include <utility>

#include "apps/support/launch_error.h"
#include "apps/support/supervisor.h"
#include "apps/support/temporary_directory.h"

namespace sumwire::apps {
namespace {

using namespace std::chrono_literals;
using Clock = Supervisor::Clock;

// DPDK takes seconds to start on a busy machine.
constexpr auto aggregator_start_limit = 60s;
constexpr auto stop_patience = 3s;

void check(const LaunchOptions& options) {
    if (options.workers.empty())
        throw LaunchError("there is no worker to start; start at least one");
    if (options.transport == Transport::inproc) {
        throw LaunchError(
            "ranks of --transport inproc are threads of one program; for processes use "
            "udp, memif or veth");
    }
    const bool elsewhere = options.embedded || !options.aggregator.empty();
    if (elsewhere && options.transport != Transport::udp) {
        throw LaunchError(
            fmt::format("with --transport {} the aggregator is a process that is started along; "
                        "use --transport "
                        "udp for an embedded or a running one",
                        to_string(options.transport)));
    }
    if (options.embedded && !options.aggregator.empty()) {
        throw LaunchError("an aggregator is either embedded or runs already; choose one");
    }
}

std::string aggregator_program() {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    const auto beside = self.parent_path() / "sumwire-aggregator";
    return !error && std::filesystem::exists(beside, error) ? beside.string()
                                                            : "sumwire-aggregator";
}

std::uint16_t free_udp_port() {
    const Descriptor probe(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(probe.get(), generic, length) != 0 ||
        getsockname(probe.get(), generic, &length) != 0) {
        throw LaunchError("no free UDP port on 127.0.0.1; bring the loopback interface up");
    }
    return ntohs(address.sin_port);
}

class Run {
  public:
    explicit Run(const LaunchOptions& options)
        : options_(options),
          job_(options.job.empty() ? fmt::format("run-{}", getpid()) : options.job),
          plan_(plan_transport(options.transport, static_cast<unsigned>(options.workers.size()),
                               options.mtu, directory_.path())) {}

    LaunchResult execute() {
        prepare_aggregator();
        if (result_.ok()) {
            for (std::size_t rank = 0; rank < options_.workers.size(); ++rank)
                workers_.push_back(
                    supervisor_.start(worker(rank), prefix(fmt::format("rank {}", rank))));
            watch();
        }
        result_.interrupted_by = supervisor_.stop_requested();
        supervisor_.stop(workers_, stop_patience);
        if (aggregator_) {
            if (aggregator_failed_) supervisor_.show(*aggregator_);
            supervisor_.stop({&*aggregator_, 1}, stop_patience);
        }
        return std::move(result_);
    }

  private:
    std::string prefix(const std::string& name) const {
        return options_.prefix_output ? fmt::format("[{}] ", name) : "";
    }

    void prepare_aggregator() {
        if (options_.embedded) {
            master_port_ = free_udp_port();
        } else if (!options_.aggregator.empty()) {
            plan_.aggregator_address = options_.aggregator;
        } else {
            start_aggregator();
        }
    }

    void start_aggregator() {
        const auto ready_file = directory_.path() / "aggregator.ready";
        ChildSpec spec;
        spec.arguments = {aggregator_program(), "--port", plan_.aggregator_port, "--ready-file",
                          ready_file.string()};
        // Workers' ports find a free one themselves; so does it where others may use the same host.
        if (options_.transport == Transport::udp)
            spec.arguments.insert(spec.arguments.end(), {"--listen", "0"});
        spec.arguments.insert(spec.arguments.end(), options_.aggregator_arguments.begin(),
                              options_.aggregator_arguments.end());
        if (plan_.network) spec.network = plan_.network->hub();

        const Descriptor changes(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
        inotify_add_watch(changes.get(), directory_.path().c_str(), IN_MOVED_TO | IN_CLOSE_WRITE);
        aggregator_ = supervisor_.start(spec, prefix("aggregator"),
                                        options_.show_aggregator ? Supervisor::Output::passed_on
                                                                 : Supervisor::Output::held_back);
        const auto limit = Clock::now() + aggregator_start_limit;
        while (!std::filesystem::exists(ready_file)) {
            const auto ended = supervisor_.wait(limit, changes.get());
            std::array<char, 4096> events;
            while (read(changes.get(), events.data(), events.size()) > 0) {
            }
            if (supervisor_.stop_requested() != 0) return;
            aggregator_failed_ = !ended.empty() || Clock::now() >= limit;
            if (!ended.empty()) {
                result_.failures.push_back(fmt::format("the aggregator {} before it was ready",
                                                       to_string(ended.front().exit)));
                return;
            }
            if (aggregator_failed_) {
                result_.failures.push_back(fmt::format("the aggregator was not ready after {} s",
                                                       aggregator_start_limit.count()));
                return;
            }
        }
        if (plan_.aggregator_address.empty())
            std::getline(std::ifstream(ready_file), plan_.aggregator_address);
    }

    ChildSpec worker(std::size_t rank) const {
        ChildSpec spec;
        spec.arguments = options_.workers[rank].arguments;
        spec.inherited = options_.workers[rank].inherited;
        if (plan_.network) spec.network = plan_.network->host(static_cast<unsigned>(rank));
        std::string port = plan_.worker_ports[rank];
        if (!options_.faults.empty()) port += ";faults=" + options_.faults;
        const auto count = options_.workers.size();
        spec.environment = {fmt::format("RANK={}", rank),
                            fmt::format("WORLD_SIZE={}", count),
                            fmt::format("LOCAL_RANK={}", rank),
                            fmt::format("LOCAL_WORLD_SIZE={}", count),
                            fmt::format("SUMWIRE_AGGREGATOR={}", plan_.aggregator_address),
                            fmt::format("SUMWIRE_PORT={}", port),
                            fmt::format("SUMWIRE_JOB={}", job_)};
        if (options_.embedded) {
            spec.environment.emplace_back("MASTER_ADDR=127.0.0.1");
            spec.environment.push_back(fmt::format("MASTER_PORT={}", master_port_));
        }
        return spec;
    }

    std::string name(Supervisor::Id child) const {
        if (child == aggregator_) return "the aggregator";
        return fmt::format("rank {}", child - workers_.front());
    }

    void watch() {
        auto limit = Clock::time_point::max();
        while (supervisor_.any_running(workers_) && supervisor_.stop_requested() == 0 &&
               Clock::now() < limit) {
            for (const auto& [child, exit] : supervisor_.wait(limit)) {
                if (exit.ok() && child != aggregator_) continue;
                if (result_.failures.empty()) limit = Clock::now() + options_.grace;
                aggregator_failed_ = aggregator_failed_ || child == aggregator_;
                result_.failures.push_back(
                    fmt::format("{} {}{}", name(child), to_string(exit),
                                exit.ok() ? " although ranks still ran" : ""));
            }
        }
        if (supervisor_.stop_requested() != 0) return;
        for (const auto child : workers_) {
            if (supervisor_.running(child))
                result_.failures.push_back(
                    fmt::format("{} did not end by itself within {} s and was stopped", name(child),
                                std::chrono::duration<double>(options_.grace).count()));
        }
    }

    const LaunchOptions& options_;
    TemporaryDirectory directory_;
    std::string job_;
    TransportPlan plan_;
    std::uint16_t master_port_ = 0;
    Supervisor supervisor_;
    std::optional<Supervisor::Id> aggregator_;
    bool aggregator_failed_ = false;
    std::vector<Supervisor::Id> workers_;
    LaunchResult result_;
};

}  // namespace

LaunchResult launch(const LaunchOptions& options) {
    check(options);
    return Run(options).execute();
}

}  // namespace sumwire::apps
