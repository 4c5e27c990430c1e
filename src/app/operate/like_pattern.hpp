// like_pattern: a glob as a pattern of SQL's LIKE.
#pragma once

#include <string>

#include "core/glob.hpp"

namespace outboxd::app {

// For LIKE with its usual escape character, the backslash, in a database whose encoding is UTF8.
std::string like_pattern(const glob& from);

}  // namespace outboxd::app
