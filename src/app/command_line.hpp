// command_line: flags and commands.
#pragma once

namespace outboxd::app {

// Reads the command line, the environment and the file, and does what they say. Returns the exit status.
int run_command_line(int argc, char** argv);

}  // namespace outboxd::app
