// migrate_command: the command migrate.
#pragma once

#include "app/command/command_set.hpp"

namespace outboxd::app {

void add_migrate_command(CLI::App& app, command_set& to);

}  // namespace outboxd::app
