// command_line: defines the flags and commands.
#pragma once

#include "app/command/command_set.hpp"
#include "app/config/setting_flags.hpp"

namespace outboxd::app {

// Adds commands that are defined in other folders.
using add_commands = void (*)(CLI::App& app, const setting_flags& flags, command_set& to);

// Reads the command line, the environment and the file, and runs the command. Returns the exit status.
int run_command_line(int argc, char** argv, add_commands others);

}  // namespace outboxd::app
