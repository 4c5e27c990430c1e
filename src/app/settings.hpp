// settings: what the settings mean, checked: types, ranges, and those that have to fit together.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "app/raw_settings.hpp"
#include "core/error.hpp"
#include "relay/relay.hpp"

namespace outboxd::app {

enum class log_format { text, json };

struct log_settings {
  std::string level = "info";
  log_format format = log_format::text;
};

struct settings {
  relay::relay_settings relay;
  log_settings log;
  std::vector<std::string> warnings;  // not wrong, but worth a line in the log
};

// What the settings are read for: a migration, like an operator's command, needs no broker, and leaves its URL alone.
enum class purpose { relay, migration };

// Defaults fill in what is missing. An error names the key, the value, where it came from and what is
// allowed; the value of a secret is not shown.
result<settings> read_settings(const raw_settings& raw, purpose what_for = purpose::relay);

}  // namespace outboxd::app
