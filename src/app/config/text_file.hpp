// text_file: the bytes of a file, or the system's word why they cannot be had.
#pragma once

#include <string>

#include "core/error.hpp"

namespace outboxd::app {

// The error is the reason alone, such as "Permission denied": who calls knows what the file is for.
result<std::string> read_text_file(const std::string& path);

}  // namespace outboxd::app
