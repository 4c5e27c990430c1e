// check_command: the command check.
#pragma once

#include "app/command/command_set.hpp"

namespace outboxd::app {

void add_check_command(CLI::App& app, command_set& to);

}  // namespace outboxd::app
