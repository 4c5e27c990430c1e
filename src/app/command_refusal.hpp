// command_refusal: the error messages for a command line that CLI11 rejects. Most arguments are not shown,
// because a secret may be in the wrong place.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace outboxd::app {

// Returns a flag that is followed by another flag instead of its value. CLI11 accepts any word as the value:
// "--relay-lanes --relay-batch 5" would set relay.lanes to "--relay-batch". `arguments` excludes the
// program's name.
std::optional<std::string> flag_without_value(const CLI::App& app, const std::vector<std::string>& arguments);

// Each function prints one line and returns the exit status.
int refuse_flag_without_value(std::string_view flag);
int refuse_unknown_command(std::string_view name);
// `extras`: arguments that the command does not expect; some may be secrets.
int refuse_unexpected(const std::vector<std::string>& extras, const std::vector<std::string>& arguments);
int refuse_command_line(const CLI::App& app, const std::vector<std::string>& arguments,
                        const CLI::ParseError& wrong);

}  // namespace outboxd::app
