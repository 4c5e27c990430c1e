// commands: run and health, for the command line.
#pragma once

#include "app/command/command_set.hpp"
#include "app/config/setting_flags.hpp"

namespace outboxd::app {

// `run` reads the flags again at SIGHUP: they outlive it.
void add_run_command(CLI::App& app, const setting_flags& flags, command_set& to);
void add_health_command(CLI::App& app, command_set& to);

}  // namespace outboxd::app
