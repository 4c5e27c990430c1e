// text_file: reads a whole file.
#pragma once

#include <string>

#include "core/error.hpp"

namespace outboxd::app {

// The error is only the reason, such as "Permission denied"; the caller adds the purpose of the file.
result<std::string> read_text_file(const std::string& path);

}  // namespace outboxd::app
