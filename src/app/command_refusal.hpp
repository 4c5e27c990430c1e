// command_refusal: what is said of a command line that CLI11 does not take. It may hold secrets in wrong places, so
// hardly any of it is shown.
#pragma once

#include <CLI/CLI.hpp>

namespace outboxd::app {

// Says it in one line and returns the exit status. `arguments`: all of them, without the program's name.
int refuse_command_line(const CLI::App& app, const std::vector<std::string>& arguments,
                        const CLI::ParseError& wrong);

}  // namespace outboxd::app
