// raw_settings: the settings as text with where each came from: flags beat environment beats file.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace outboxd::app {

struct raw_value {
  std::string text;
  std::string
      origin;  // for messages: "flag --relay-lanes", "environment OUTBOXD_RELAY_LANES", "outboxd.toml:3"
};

using raw_settings = std::map<std::string, raw_value>;  // by key

// Names the TOML file, as the flag --config does.
inline constexpr std::string_view config_variable = "OUTBOXD_CONFIG";

// Names the folder of files that each give one outbox, as the flag --outboxes does.
inline constexpr std::string_view outboxes_variable = "OUTBOXD_OUTBOXES";

// The TOML file. Unknown keys are errors. `named_by`: where its path came from, for messages.
result<raw_settings> read_file(const std::string& path, std::string_view named_by = "flag --config");

// OUTBOXD_<SECTION>_<KEY> and OUTBOXD_SCHEMA, out of "NAME=value" strings. Any other name with OUTBOXD_ is an
// error, but for these two and those in foreign_variables.hpp.
result<raw_settings> read_environment(char** environment);

// Adds what `weaker` has and `stronger` has not. A secret's key and its key_file count as one.
raw_settings merge(raw_settings stronger, const raw_settings& weaker);

}  // namespace outboxd::app
