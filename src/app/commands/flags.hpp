// flags: the flags that several commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "app/operate/selection.hpp"

namespace outboxd::app {

void add_selectors(CLI::App& to, selectors& which, event_set of);
void add_status(CLI::App& to, selectors& which);
void add_reason(CLI::App& to, std::optional<std::string>& reason);
void add_json(CLI::App& to, bool& as_json);

}  // namespace outboxd::app
