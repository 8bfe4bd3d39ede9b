// sumwire-bench: how fast codecs, aggregator and allreduce are, with every result checked.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>

#include "apps/bench/commands.h"
#include "apps/support/npy.h"
#include "apps/support/rank_process.h"

namespace {

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

void complain(std::string text) {
    std::ranges::replace(text, '\n', ' ');
    fmt::print(stderr, "sumwire-bench: {}\n", text);
}

std::string help_command(const CLI::App& app) {
    const auto chosen = app.get_subcommands();
    return fmt::format("sumwire-bench {}--help", chosen.empty() ? "" : chosen[0]->get_name() + " ");
}

}  // namespace

int main(int argc, char** argv) {
    using namespace sumwire::apps;
    const std::span arguments(argv, static_cast<std::size_t>(argc));
    if (is_rank_process(arguments)) return run_rank_process(arguments);
    int exit_code = 0;
    CLI::App app{
        "Measures Sumwire. Every run checks its sums; exit code 1 says that some were wrong."};
    app.name("sumwire-bench");
    app.set_version_flag("--version", "sumwire-bench " SUMWIRE_VERSION);
    app.require_subcommand(1);
    add_codec_command(app, exit_code);
    add_aggregator_command(app, exit_code);
    add_allreduce_command(app, exit_code);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& request) {
        return app.exit(request);  // --help, --version
    } catch (const CLI::ParseError& error) {
        complain(fmt::format("{}; '{}' lists what is possible", error.what(), help_command(app)));
        return exit_usage;
    } catch (const std::invalid_argument& error) {
        complain(error.what());
        return exit_usage;
    } catch (const InputError& error) {
        complain(error.what());
        return exit_usage;
    } catch (const std::exception& error) {
        complain(error.what());
        return exit_failed;
    }
    return exit_code;
}
