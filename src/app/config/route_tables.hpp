// route_tables: the tables [[route]] of the settings file as raw settings.
#pragma once

#include <toml++/toml.h>

#include <string>

#include "app/config/raw_settings.hpp"
#include "core/error.hpp"

namespace outboxd::app {

// Adds the keys (route_keys.hpp). An error names file and line.
result<void> read_route_tables(const std::string& path, const toml::node& from, raw_settings& out);

// One value as the text that a flag would have; nothing if it is none. A list of texts is joined with commas.
std::optional<std::string> text_of(const toml::node& value);

// outboxd.toml:12
std::string origin_of(const std::string& path, const toml::source_region& where);

}  // namespace outboxd::app
