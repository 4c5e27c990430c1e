// raw_settings: the settings as text with where each came from: flags beat environment beats file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace outboxd::app {

struct raw_value {
  std::string text;
  std::string
      origin;  // for messages: "flag --relay-lanes", "environment OUTBOXD_RELAY_LANES", "outboxd.toml:3"
};

using raw_settings = std::map<std::string, raw_value>;  // by key

// The TOML file. Unknown keys are errors.
result<raw_settings> read_file(const std::string& path);

// OUTBOXD_<SECTION>_<KEY>, out of "NAME=value" strings. An unknown name in one of our sections, or
// near to a setting, is an error; others are left alone.
result<raw_settings> read_environment(char** environment);

// Adds what `weaker` has and `stronger` has not. A secret's key and its key_file count as one.
raw_settings merge(raw_settings stronger, const raw_settings& weaker);

}  // namespace outboxd::app
