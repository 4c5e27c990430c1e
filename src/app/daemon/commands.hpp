// commands: defines the commands run and health.
#pragma once

#include "app/command/command_set.hpp"
#include "app/config/setting_flags.hpp"

namespace outboxd::app {

// `flags` must outlive `run`, which reads them again at SIGHUP.
void add_run_command(CLI::App& app, const setting_flags& flags, command_set& to);
void add_health_command(CLI::App& app, command_set& to);

}  // namespace outboxd::app
