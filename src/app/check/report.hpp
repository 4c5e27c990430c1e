// report: the findings as text for people or JSON for scripts, and the exit status.
#pragma once

#include <string>

#include "app/check/finding.hpp"

namespace outboxd::app::check {

// One line per finding, followed by its remedy on a separate line; each line ends with a newline.
std::string as_text(const findings& all);

// A JSON array of objects with name, verdict, words and remedy (null if there is none).
std::string as_json(const findings& all);

bool any_failed(const findings& all);

}  // namespace outboxd::app::check
