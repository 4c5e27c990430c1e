// outbox_files: the settings files of a process that relays several outboxes, one file for each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/config/raw_settings.hpp"
#include "core/error.hpp"

namespace outboxd::app {

// The argument of --outbox that selects all outboxes.
inline constexpr std::string_view all_outboxes = "all";

// Returns whether `name` has 1 to 63 letters, digits, '.', '_' and '-', begins with a letter or digit, and is
// not "all".
bool is_outbox_name(std::string_view name);

struct outbox_file {
  std::string name;  // the file's name without .toml
  std::string path;
};

outbox_file outbox_file_at(const std::string& path);

// Returns the files in `folder` whose names end with .toml, sorted by name. Hidden files are ignored.
result<std::vector<outbox_file>> outbox_files_in(const std::string& folder);

// Returns whether a setting belongs to the process, so that an outbox's file must not contain it: http, log,
// otlp, console (except the list of users who may act), relay.shutdown_grace and relay.total_bytes.
bool is_of_process(std::string_view key);

// Returns the settings of an outbox: those of its file, and all others from `defaults`. A file with routes
// replaces all routes of `defaults`. Fails if is_outbox_name() rejects the name, or if the file contains a
// setting of the process.
result<raw_settings> settings_of_outbox(const outbox_file& one, const raw_settings& defaults);

}  // namespace outboxd::app
