// route_tables: converts the tables [[route]] of the settings file to raw settings.
#pragma once

#include <toml++/toml.h>

#include <string>

#include "app/config/raw_settings.hpp"
#include "core/error.hpp"

namespace outboxd::app {

// Adds the keys described in route_keys.hpp. Errors name the file and the line.
result<void> read_route_tables(const std::string& path, const toml::node& from, raw_settings& out);

// Returns a value as text, in the format of a flag; nullopt for a table. A list of texts is joined with
// commas.
std::optional<std::string> text_of(const toml::node& value);

// Returns an origin such as "outboxd.toml:12".
std::string origin_of(const std::string& path, const toml::source_region& where);

}  // namespace outboxd::app
