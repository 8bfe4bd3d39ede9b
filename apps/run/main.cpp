// sumwire-run: a whole job on this machine.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>

#include "apps/run/command_line.h"
#include "apps/run/gradient_run.h"
#include "apps/support/launch_error.h"
#include "apps/support/launcher.h"
#include "apps/support/npy.h"
#include "apps/support/rank_process.h"
#include "apps/support/sum_session.h"

namespace sumwire::apps {
namespace {

constexpr unsigned usual_workers = 2;

int run_program(const RunOptions& options) {
    LaunchOptions launch_options;
    const unsigned workers = options.workers.value_or(usual_workers);
    launch_options.workers.assign(workers, {.arguments = options.program, .inherited = {}});
    launch_options.transport = options.transport;
    launch_options.aggregator = options.aggregator;
    launch_options.embedded = options.embedded;
    launch_options.aggregator_arguments =
        aggregator_arguments(options.polling, workers, options.payload_bytes);
    launch_options.faults = options.faults;
    launch_options.mtu = options.mtu;
    launch_options.show_aggregator = options.verbose;
    const LaunchResult result = launch(launch_options);
    for (const auto& failure : result.failures)
        complain(failure);
    if (result.interrupted_by != 0) return status_after(result.interrupted_by);
    return result.ok() ? 0 : 1;
}

int run(int argc, char** argv) {
    const auto options = parse_command_line(argc, argv);
    if (!options) return 0;
    return options->program.empty() ? run_gradients(*options) : run_program(*options);
}

}  // namespace
}  // namespace sumwire::apps

int main(int argc, char** argv) {
    using namespace sumwire::apps;
    const std::span arguments(argv, static_cast<std::size_t>(argc));
    if (is_rank_process(arguments)) return run_rank_process(arguments);
    try {
        return run(argc, argv);
    } catch (const UsageError& error) {
        complain(error.what());
        return 2;
    } catch (const InputError& error) {
        complain(error.what());
        return 2;
    } catch (const std::exception& error) {
        complain(error.what());
        return 1;
    }
}
