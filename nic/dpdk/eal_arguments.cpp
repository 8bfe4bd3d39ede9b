#include "nic/dpdk/eal_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>

#include "nic/port.h"

namespace sumwire::nic {
namespace {

// Backed by pages only as they are touched.
constexpr unsigned megabytes_without_hugepages = 1024;

// "--name", "--name=value", "-xvalue" or "-x".
bool says(std::span<const std::string> extra, std::initializer_list<std::string_view> options) {
    return std::any_of(extra.begin(), extra.end(), [&](std::string_view argument) {
        return std::any_of(options.begin(), options.end(), [&](std::string_view option) {
            if (!argument.starts_with(option)) return false;
            const bool is_short = option.size() == 2;
            return is_short || argument.size() == option.size() || argument[option.size()] == '=';
        });
    });
}

bool asks_for_help(std::string_view argument) {
    if (argument.starts_with("--")) {
        // getopt takes unique beginnings of long options.
        return argument.size() >= 4 && std::string_view("--help").starts_with(argument);
    }
    return argument == "-h" || argument == "-vh";
}

void refuse_help(std::span<const std::string> extra) {
    for (std::size_t i = 0; i < extra.size(); ++i) {
        const std::string_view argument = extra[i];
        const bool levels =
            argument == "--log-level=help" ||
            (argument == "--log-level" && i + 1 < extra.size() && extra[i + 1] == "help");
        if (asks_for_help(argument) || levels || argument == "--") {
            throw SetupError(fmt::format(
                "DPDK's argument '{}' ends the program instead of starting DPDK: leave it out, "
                "and ask dpdk-testpmd for the help text",
                argument));
        }
    }
}

bool is_hex(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(),
                                        [](unsigned char c) { return std::isxdigit(c) != 0; });
}

}  // namespace

EalCommandLine eal_command_line(const EalMachine& machine,
                                const std::optional<std::string>& pci_device,
                                std::span<const std::string> extra) {
    refuse_help(extra);
    EalCommandLine line;
    auto& arguments = line.arguments;
    arguments.emplace_back("sumwire");
    if (!says(extra, {"-l", "-c", "-s", "-S", "--lcores"})) {
        arguments.push_back(fmt::format("--lcores=0@({})", machine.cpus));
    }
    if (!says(extra, {"--telemetry", "--no-telemetry"})) arguments.emplace_back("--no-telemetry");

    bool hugepages = !says(extra, {"--no-huge"});
    const bool hugepages_asked =
        says(extra, {"--in-memory", "--huge-dir", "--huge-unlink", "--proc-type", "--legacy-mem",
                     "--socket-mem", "--single-file-segments"});
    if (hugepages && !hugepages_asked) {
        hugepages = machine.free_hugepage_bytes >= enough_hugepage_bytes;
        if (hugepages) {
            // Files of other processes' choosing are what a prefix asks for.
            if (!says(extra, {"--file-prefix"})) arguments.emplace_back("--in-memory");
        } else {
            arguments.emplace_back("--no-huge");
            line.note = fmt::format(
                "DPDK runs without hugepages, which costs some speed: {} MiB are free, {} are "
                "wanted; as root: echo 512 > /proc/sys/vm/nr_hugepages",
                machine.free_hugepage_bytes >> 20, enough_hugepage_bytes >> 20);
        }
    }
    if (!hugepages) {
        if (!says(extra, {"--no-shconf"})) arguments.emplace_back("--no-shconf");
        if (!says(extra, {"-m"})) {
            arguments.push_back(fmt::format("-m{}", megabytes_without_hugepages));
        }
    }

    const bool pci_decided = says(extra, {"--no-pci", "-a", "--allow", "-b", "--block"});
    if (pci_device) {
        if (!pci_decided) arguments.push_back(fmt::format("--allow={}", *pci_device));
    } else {
        if (!pci_decided) arguments.emplace_back("--no-pci");
        if (!says(extra, {"--iova-mode"})) arguments.emplace_back("--iova-mode=va");
    }
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    return line;
}

bool is_pci_device(std::string_view device) {
    const std::string_view name = device.substr(0, device.find(','));
    if (name.starts_with("pci:")) return true;
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || !is_hex(name.substr(dot + 1))) return false;
    std::string_view rest = name.substr(0, dot);
    std::size_t numbers = 0;
    while (true) {
        const std::size_t colon = rest.find(':');
        if (!is_hex(rest.substr(0, colon))) return false;
        ++numbers;
        if (colon == std::string_view::npos) break;
        rest.remove_prefix(colon + 1);
    }
    return numbers == 2 || numbers == 3;
}

std::vector<std::string> split_arguments(std::string_view text) {
    std::vector<std::string> arguments;
    while (true) {
        const std::size_t begin = text.find_first_not_of(" \t\n");
        if (begin == std::string_view::npos) return arguments;
        text.remove_prefix(begin);
        const std::size_t end = std::min(text.find_first_of(" \t\n"), text.size());
        arguments.emplace_back(text.substr(0, end));
        text.remove_prefix(end);
    }
}

std::string join_arguments(std::span<const std::string> arguments) {
    std::string text;
    for (const std::string& argument : arguments) {
        if (!text.empty()) text += ' ';
        text += argument;
    }
    return text;
}

}  // namespace sumwire::nic
