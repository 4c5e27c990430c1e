// version: what this program is built from, and what it runs with.
#pragma once

#include <string>
#include <string_view>

namespace outboxd::app {

// Abbreviated, with -dirty behind it if the checkout had changes; empty if nobody knows. The build generates
// it.
std::string_view commit();

// For `outboxd version`: a line each for outboxd, the commit and the libraries. Has no time of the build, so
// that the same source gives the same program.
std::string version_text();

}  // namespace outboxd::app
