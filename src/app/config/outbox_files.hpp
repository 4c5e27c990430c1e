// outbox_files: files that each give one outbox, for a process that relays several.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/config/raw_settings.hpp"
#include "core/error.hpp"

namespace outboxd::app {

// Stands for all of them in --outbox.
inline constexpr std::string_view all_outboxes = "all";

// 1 to 63 letters, digits, '.', '_' and '-', beginning with a letter or digit, and not "all".
bool is_outbox_name(std::string_view name);

struct outbox_file {
  std::string name;  // of the file, without .toml
  std::string path;
};

outbox_file outbox_file_at(const std::string& path);

// The files of a folder whose names end with .toml, sorted by name. Hidden files are left out.
result<std::vector<outbox_file>> outbox_files_in(const std::string& folder);

// Whether a setting is one of the process, so that the file of an outbox must not give it: http, log, otlp, console
// (but not who may act), relay.shutdown_grace and relay.total_bytes.
bool is_of_process(std::string_view key);

// The settings of an outbox: those of its file, and the others from `defaults`. A file with routes replaces
// all routes of `defaults`. Fails if is_outbox_name() refuses the name, or if the file gives a setting of the
// process.
result<raw_settings> settings_of_outbox(const outbox_file& one, const raw_settings& defaults);

}  // namespace outboxd::app
