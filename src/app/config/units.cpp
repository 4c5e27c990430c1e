#include "app/config/units.hpp"

#include <array>
#include <charconv>
#include <limits>

namespace outboxd::app {
namespace {

struct unit {
  std::string_view name;
  std::int64_t factor;
};

constexpr std::array durations{unit{"ms", 1}, unit{"s", 1000}, unit{"m", 60'000}, unit{"h", 3'600'000},
                               unit{"d", 86'400'000}};
constexpr std::array sizes{unit{"", 1},
                           unit{"B", 1},
                           unit{"kB", 1000},
                           unit{"MB", 1'000'000},
                           unit{"GB", 1'000'000'000},
                           unit{"KiB", 1024},
                           unit{"MiB", 1'048'576},
                           unit{"GiB", 1'073'741'824}};

template <std::size_t Size>
std::optional<std::int64_t> parse(std::string_view text, const std::array<unit, Size>& units) {
  std::int64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, failed] = std::from_chars(text.data(), last, number);
  if (failed != std::errc() || number < 0) return std::nullopt;
  const std::string_view name(end, static_cast<std::size_t>(last - end));
  for (const unit& one : units) {
    if (one.name != name) continue;
    if (number > std::numeric_limits<std::int64_t>::max() / one.factor) return std::nullopt;
    return number * one.factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto count = parse(text, durations);
  if (!count) return std::nullopt;
  return std::chrono::milliseconds(*count);
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  return parse(text, sizes);
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace outboxd::app
