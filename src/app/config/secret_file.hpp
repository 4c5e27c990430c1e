// secret_file: a connection string kept in a file of its own, so that it is on no command line and in no
// environment.
#pragma once

#include <string>

#include "core/error.hpp"

namespace outboxd::app {

// The file's one line. A byte order mark and the newline at the end are dropped; another newline is an error.
// Errors name the file and the remedy, never what is in it.
result<std::string> read_secret_file(const std::string& path);

bool is_world_readable(const std::string& path);

}  // namespace outboxd::app
