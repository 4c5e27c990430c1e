#include "app/config/setting_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/config/setting_keys.hpp"
#include "app/config/units.hpp"

namespace outboxd::app {

using std::chrono::milliseconds;

setting_reader::setting_reader(const raw_settings& raw) : raw_(raw) {
  for (const setting_key& one : setting_keys)
    defaults_[one.key()] = {std::string(one.fallback), "the default"};
}

const raw_value& setting_reader::value(const std::string& key) const {
  const auto given = raw_.find(key);
  return given != raw_.end() ? given->second : defaults_.at(key);
}

milliseconds setting_reader::duration(const std::string& key, milliseconds least, milliseconds most,
                                      std::string_view allowed) {
  const auto parsed = parse_duration(value(key).text);
  if (parsed && *parsed >= least && *parsed <= most) return *parsed;
  refuse(key, fmt::format("a duration such as 500ms, 10s or 5m, {}", allowed));
  return least;
}

std::optional<milliseconds> setting_reader::duration_or_never(const std::string& key, milliseconds least,
                                                              milliseconds most, std::string_view allowed) {
  const std::string& text = value(key).text;
  if (text == "never") return std::nullopt;
  const auto parsed = parse_duration(text);
  if (!parsed || *parsed < least || *parsed > most)
    refuse(key, fmt::format("never, or a duration such as 12h or 7d, {}", allowed));
  return parsed;
}

std::int64_t setting_reader::integer(const std::string& key, std::int64_t least, std::int64_t most) {
  const auto parsed = parse_integer(value(key).text);
  if (parsed && *parsed >= least && *parsed <= most) return *parsed;
  refuse(key, fmt::format("a whole number from {} to {}", least, most));
  return least;
}

std::int64_t setting_reader::size(const std::string& key, std::int64_t least, std::int64_t most,
                                  std::string_view allowed) {
  const auto parsed = parse_size(value(key).text);
  if (parsed && *parsed >= least && *parsed <= most) return *parsed;
  refuse(key, fmt::format("a size such as 8MB or 512KiB, {}", allowed));
  return least;
}

bool setting_reader::yes(const std::string& key) {
  return choice(key, std::array<std::string_view, 2>{"true", "false"}) == 0;
}

std::size_t setting_reader::choice(const std::string& key, const std::vector<std::string_view>& allowed) {
  const auto at = std::find(allowed.begin(), allowed.end(), value(key).text);
  if (at != allowed.end()) return static_cast<std::size_t>(at - allowed.begin());
  refuse(key, fmt::format("one of {}", fmt::join(allowed, ", ")));
  return 0;
}

void setting_reader::refuse(const std::string& key, std::string_view allowed) {
  const auto& [text, origin] = value(key);
  fail(fmt::format("{} = '{}' ({}) is not allowed; give {}", key, text, origin, allowed));
}

void setting_reader::fail(std::string message) {
  if (!failed_) failed_ = error{fault::permanent, std::move(message)};
}

}  // namespace outboxd::app
