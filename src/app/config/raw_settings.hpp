// raw_settings: the settings as text, with their origins. Flags override the environment, which overrides the
// file.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace outboxd::app {

struct raw_value {
  std::string text;
  std::string origin;  // for error messages: "flag --relay-lanes", "environment OUTBOXD_RELAY_LANES",
                       // "outboxd.toml:3"
};

using raw_settings = std::map<std::string, raw_value>;  // by key

// The variable that names the TOML file, like the flag --config.
inline constexpr std::string_view config_variable = "OUTBOXD_CONFIG";

// The variable that names the directory of outbox files, like the flag --outboxes.
inline constexpr std::string_view outboxes_variable = "OUTBOXD_OUTBOXES";

// Reads the TOML file. Unknown keys are errors. `named_by`: the origin of the file's path, for error
// messages.
result<raw_settings> read_file(const std::string& path, std::string_view named_by = "flag --config");

// Reads OUTBOXD_<SECTION>_<KEY> and OUTBOXD_SCHEMA from "NAME=value" strings. Fails for any other name that
// begins with OUTBOXD_, except the two variables above and those in foreign_variables.hpp.
result<raw_settings> read_environment(char** environment);

// Adds the settings of `weaker` that `stronger` lacks. A secret's key and its key_file count as one setting.
raw_settings merge(raw_settings stronger, const raw_settings& weaker);

}  // namespace outboxd::app
