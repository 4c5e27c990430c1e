// report: the findings as lines for people or JSON for scripts, and the exit status.
#pragma once

#include <string>

#include "app/check/finding.hpp"

namespace outboxd::app::check {

// A line for each, and the remedy on a line of its own below; each ends with a newline.
std::string as_text(const findings& all);

// An array of objects with name, verdict, words and remedy (null if there is none).
std::string as_json(const findings& all);

bool any_failed(const findings& all);

}  // namespace outboxd::app::check
