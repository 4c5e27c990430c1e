// command_refusal: the error messages for a command line that CLI11 rejects. It may contain secrets in wrong
// places, so hardly any of it is shown.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outboxd::app {

// A flag that is followed by another flag instead of its value. CLI11 accepts any word as the value: with
// "--relay-lanes --relay-batch 5" the lanes would be "--relay-batch". `arguments`: all arguments, without the
// program's name.
std::optional<std::string> flag_without_value(const CLI::App& app, const std::vector<std::string>& arguments);

// Each function prints one line and returns the exit status.
int refuse_flag_without_value(std::string_view flag);
int refuse_unknown_command(std::string_view name);
int refuse_command_line(const CLI::App& app, const std::vector<std::string>& arguments,
                        const CLI::ParseError& wrong);

}  // namespace outboxd::app
