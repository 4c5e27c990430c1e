// route_settings: validates the routes of the raw settings.
#pragma once

#include <string>
#include <vector>

#include "app/config/raw_settings.hpp"
#include "app/config/setting_reader.hpp"
#include "core/routing.hpp"

namespace outboxd::app {

// Returns the routes in the order of the file. An invalid route makes the reader fail; the error names the
// key, the value, its origin and the allowed values.
std::vector<std::shared_ptr<const route>> read_routes(const raw_settings& raw, setting_reader& from);

// Returns warnings about valid routes that are probably mistakes.
std::vector<std::string> route_warnings(const routing& of);

// Returns the names for people, such as "two, three"; "none" if there are none.
std::string names_of(const routing& of);

}  // namespace outboxd::app
