// console_command: `outboxd console`: serves the page until it is told to stop.
#pragma once

#include "app/command/command_set.hpp"

namespace outboxd::console {

void add_console_command(CLI::App& app, app::command_set& to);

}  // namespace outboxd::console
