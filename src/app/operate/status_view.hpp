// status_view: what `outboxd status` knows, as text for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace outboxd::app {

// `status`: the JSON of status_command.cpp. Parts that could not be read are missing there, and not shown
// here.
std::string status_view(const nlohmann::json& status);

// 0.5 s, 42 s, 3 min 20 s, 5 h 12 min, 3 d 4 h
std::string words_of_seconds(double seconds);

}  // namespace outboxd::app
