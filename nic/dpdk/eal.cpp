#include "nic/dpdk/eal.h"

#include <fmt/format.h>
#include <pthread.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "nic/dpdk/eal_arguments.h"
#include "nic/port.h"

namespace sumwire::nic {
namespace {

struct Eal {
    std::mutex mutex;
    std::vector<std::string> program_arguments;
    bool tried = false;
    bool running = false;
    pid_t process = 0;
    std::vector<std::string> port_arguments;
    bool pci = false;
    std::string failure;
    std::string note;
    EalCommandLine line;
    std::vector<char*> argv;  // DPDK keeps pointers into it
};

// Never destroyed: DPDK's threads outlive main().
Eal& eal() {
    static Eal* const state = new Eal;
    return *state;
}

std::string allowed_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return "0";
    std::string list;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &set)) continue;
        if (!list.empty()) list += ',';
        list += std::to_string(cpu);
    }
    return list;
}

std::uint64_t free_hugepage_bytes() {
    namespace fs = std::filesystem;
    std::uint64_t bytes = 0;
    std::error_code error;
    for (const auto& size : fs::directory_iterator("/sys/kernel/mm/hugepages", error)) {
        std::uint64_t free_pages = 0;
        unsigned long kilobytes = 0;
        std::ifstream(size.path() / "free_hugepages") >> free_pages;
        const std::string name = size.path().filename();  // hugepages-2048kB
        if (std::sscanf(name.c_str(), "hugepages-%lukB", &kilobytes) == 1) {
            bytes += free_pages * kilobytes * 1024;
        }
    }
    return bytes;
}

// On a thread of its own: DPDK pins the thread that starts it, and what it starts inherits from it.
int init_on_helper(Eal& state) {
    int error = 0;
    const auto body = [&state, &error] {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);
        const PrintCapture capture;
        if (std::FILE* const stream = EalMessages::instance().stream()) {
            rte_openlog_stream(stream);
        }
        for (std::string& argument : state.line.arguments) {
            state.argv.push_back(argument.data());
        }
        const int argc = static_cast<int>(state.argv.size());
        state.argv.push_back(nullptr);
        if (rte_eal_init(argc, state.argv.data()) < 0) {
            error = rte_errno == 0 ? EINVAL : rte_errno;
        }
    };
    try {
        std::thread(body).join();
    } catch (const std::system_error& failure) {
        return failure.code().value();
    }
    return error;
}

const char* remedy(int error) {
    switch (error) {
        case EINVAL:
            return "check the arguments (';eal=' and what follows '--')";
        case EACCES:
        case EPERM:
            return "run as root, or use a udp: port, which needs no privileges";
        case ENOMEM:
        case ENODEV:
            return "free some memory or hugepages, or add ';eal=--no-huge'";
        case ENOTSUP:
            return "this CPU or kernel cannot run DPDK: use a udp: port";
        default:
            return "use a udp: port if DPDK cannot run here";
    }
}

void init(Eal& state, const std::vector<std::string>& arguments,
          const std::optional<std::string>& pci_device) {
    std::vector<std::string> extra = state.program_arguments;
    extra.insert(extra.end(), arguments.begin(), arguments.end());
    state.line = eal_command_line({allowed_cpus(), free_hugepage_bytes()}, pci_device, extra);

    state.tried = true;
    state.process = getpid();
    state.port_arguments = arguments;
    state.pci = pci_device.has_value();
    const std::uint64_t mark = EalMessages::instance().mark();
    const int error = init_on_helper(state);
    if (error == EALREADY) {
        // The host program uses DPDK itself: we are its guest.
        state.pci = true;
        state.running = true;
        return;
    }
    if (error != 0) {
        const std::string said = EalMessages::instance().since(mark);
        state.failure =
            fmt::format("DPDK does not start ({}){}{}, with arguments '{}': {}",
                        rte_strerror(error), said.empty() ? "" : ": ", said,
                        join_arguments(std::span(state.line.arguments).subspan(1)), remedy(error));
        return;
    }
    state.note = state.line.note;
    state.running = true;
}

class EalThread {
  public:
    EalThread() {
        // Without an identity everything works, but around the packet caches.
        registered_ = rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0;
    }
    ~EalThread() {
        if (registered_) rte_thread_unregister();
    }
    EalThread(const EalThread&) = delete;
    EalThread& operator=(const EalThread&) = delete;

  private:
    bool registered_;
};

}  // namespace

void set_eal_arguments(std::vector<std::string> arguments) {
    Eal& state = eal();
    const std::scoped_lock lock(state.mutex);
    if (state.tried) {
        throw SetupError("DPDK runs already: set its arguments before the first DPDK port");
    }
    state.program_arguments = std::move(arguments);
}

void set_eal_log(EalLog log) {
    EalMessages::instance().set_log(std::move(log));
}

void start_eal(const std::vector<std::string>& arguments,
               const std::optional<std::string>& pci_device) {
    Eal& state = eal();
    const std::scoped_lock lock(state.mutex);
    if (!state.tried) {
        init(state, arguments, pci_device);
    } else if (state.process != getpid()) {
        throw SetupError(
            "DPDK was started before this process was forked and does not survive that: open DPDK "
            "ports in the child only");
    }
    if (!state.running) throw SetupError(state.failure);
    if (!arguments.empty() && arguments != state.port_arguments) {
        throw SetupError(fmt::format(
            "DPDK runs already, with arguments '{}' instead of '{}': give the same 'eal=' to every "
            "DPDK port of the process, or none after the first",
            join_arguments(state.port_arguments), join_arguments(arguments)));
    }
    if (pci_device && !state.pci) {
        throw SetupError(fmt::format(
            "'{}' is on the PCI bus, but DPDK was started without it: open this port before those "
            "on virtual devices, or start DPDK with 'eal=--allow={}'",
            *pci_device, *pci_device));
    }
}

std::string eal_note() {
    Eal& state = eal();
    const std::scoped_lock lock(state.mutex);
    return state.note;
}

void register_eal_thread() {
    thread_local const EalThread thread;
}

}  // namespace sumwire::nic
