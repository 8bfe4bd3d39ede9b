// The subcommands of sumwire-bench.
#pragma once

#include <CLI/CLI.hpp>

namespace sumwire::apps {

// Each adds its subcommand, which runs while the command line is parsed and sets `exit_code` to 1
// if a result was wrong. Wrong arguments throw std::invalid_argument or CLI::ParseError, whatever
// else fails another std::exception; all name the remedy.
void add_codec_command(CLI::App& app, int& exit_code);
void add_aggregator_command(CLI::App& app, int& exit_code);
void add_allreduce_command(CLI::App& app, int& exit_code);

}  // namespace sumwire::apps
