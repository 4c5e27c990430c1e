// command_refusal: what is said of a command line that CLI11 does not take. It may hold secrets in wrong
// places, so hardly any of it is shown.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outboxd::app {

// A flag that is followed by another flag where its value should be. CLI11 takes whatever follows: with
// "--relay-lanes --relay-batch 5" the lanes would be "--relay-batch". `arguments`: all, without the program's
// name.
std::optional<std::string> flag_without_value(const CLI::App& app, const std::vector<std::string>& arguments);

// Each says it in one line and returns the exit status.
int refuse_flag_without_value(std::string_view flag);
int refuse_unknown_command(std::string_view name);
int refuse_command_line(const CLI::App& app, const std::vector<std::string>& arguments,
                        const CLI::ParseError& wrong);

}  // namespace outboxd::app
