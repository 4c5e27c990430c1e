// route_settings: the routes of the raw settings, checked.
#pragma once

#include <string>
#include <vector>

#include "app/config/raw_settings.hpp"
#include "app/config/setting_reader.hpp"
#include "core/routing.hpp"

namespace outboxd::app {

// In their order in the file. What is wrong fails the reader: the error names the key, the value, where it
// came from and what is allowed.
std::vector<std::shared_ptr<const route>> read_routes(const raw_settings& raw, setting_reader& from);

// Of routes that are not wrong, but probably not meant so.
std::vector<std::string> route_warnings(const routing& of);

// "two, three": the names, for people; "none" if there are none.
std::string names_of(const routing& of);

}  // namespace outboxd::app
