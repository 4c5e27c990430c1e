// secret_file: a file that contains only a connection string, so that the string is not on the command line
// or in the environment.
#pragma once

#include <string>

#include "core/error.hpp"

namespace outboxd::app {

// Returns the file's only line, without a byte order mark or the final newline; another newline is an error.
// Errors name the file and the remedy, never the content.
result<std::string> read_secret_file(const std::string& path);

bool is_world_readable(const std::string& path);

}  // namespace outboxd::app
