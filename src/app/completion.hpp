// completion: scripts that complete the command line in bash, zsh and fish, from the options themselves.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace outboxd::app {

enum class shell { bash, zsh, fish };
std::optional<shell> parse_shell(std::string_view word);

std::string completion_script(const CLI::App& app, shell of);

}  // namespace outboxd::app
