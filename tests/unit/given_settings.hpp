// given_settings: settings for a test, and what is said of them when they are refused.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "app/config/settings.hpp"

namespace outboxd::test {

// Each with an origin of its own: "origin of relay.lanes".
inline app::raw_settings with(std::initializer_list<std::pair<const char*, std::string>> values) {
  app::raw_settings raw;
  for (const auto& [key, text] : values) raw[key] = {text, std::string("origin of ") + key};
  return raw;
}

// Empty: they are taken.
inline std::string refusal(const app::raw_settings& raw) {
  const auto read = app::read_settings(raw);
  return read ? "" : read.error().message;
}

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace outboxd::test
