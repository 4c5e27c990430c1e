// console_command: `outboxd console`: serves the page until it receives a signal to stop.
#pragma once

#include "app/command/command_set.hpp"
#include "app/config/setting_flags.hpp"

namespace outboxd::console {

void add_console_command(CLI::App& app, const app::setting_flags& flags, app::command_set& to);

}  // namespace outboxd::console
