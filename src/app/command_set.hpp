// command_set: the commands, each with its options, and what it does when it is the one that was given.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <vector>

#include "app/settings.hpp"

namespace outboxd::app {

struct command {
  CLI::App* parsed_by;
  purpose what_for;                         // how much of the settings it needs
  std::function<int(const settings&)> run;  // returns the exit status
};

using command_set = std::vector<command>;

// Each adds commands of one kind to the command line.
void add_daemon_commands(CLI::App& app, command_set& to);    // run, migrate
void add_operator_commands(CLI::App& app, command_set& to);  // dead, replay, prune

}  // namespace outboxd::app
