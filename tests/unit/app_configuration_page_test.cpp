// app_configuration_page_test: docs/configuration.md has a heading for each setting, with its unit, and with
// the default and the range that the program has.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>

#include "app/config/reload.hpp"
#include "app/config/setting_keys.hpp"
#include "app/config/settings.hpp"
#include "app/config/units.hpp"

namespace app_configuration_page_test {

using namespace outboxd::app;

namespace {

// The headings of settings, each with the first line below it.
std::map<std::string, std::string> headings_of_page() {
  std::ifstream page(OUTBOXD_SOURCE_DIR "/docs/configuration.md");
  REQUIRE(page.is_open());
  std::map<std::string, std::string> out;
  std::string heading;
  for (std::string line; std::getline(page, line);) {
    constexpr std::string_view mark = "### ";
    if (line.starts_with(mark)) {
      heading = line.substr(mark.size());
      CAPTURE(heading);
      CHECK_FALSE(out.contains(heading));
      out[heading];
    } else if (!heading.empty() && !line.empty()) {
      out[heading] = line;
      heading.clear();
    }
  }
  return out;
}

// A value of a range one step lower or higher: for a duration a millisecond, for a size a byte.
std::string beside(const std::string& value, int step) {
  if (const auto whole = parse_integer(value)) return std::to_string(*whole + step);
  if (const auto time = parse_duration(value)) return std::to_string(time->count() + step) + "ms";
  const auto size = parse_size(value);
  REQUIRE(size.has_value());
  return std::to_string(*size + step);
}

// Whether the program refuses this value by itself, and not because it does not fit another setting.
bool refuses(const std::string& key, const std::string& value) {
  raw_settings raw;
  raw[key] = {value, "the page"};
  const auto read = read_settings(raw);
  const auto words = key + " = '" + value + "' (the page) is not allowed; give";
  return !read && read.error().message.starts_with(words);
}

}  // namespace

TEST_CASE("docs/configuration.md tells the unit of each setting") {
  for (const auto& [heading, below] : headings_of_page()) {
    CAPTURE(heading);
    CHECK(below.find(" Unit: ") != std::string::npos);
  }
}

TEST_CASE("docs/configuration.md tells the range of each setting that has one, as the program has it") {
  int ranges = 0;
  for (const auto& [heading, below] : headings_of_page()) {
    CAPTURE(heading);
    constexpr std::string_view mark = " Range: ";
    const auto at = below.find(mark);
    if (at == std::string::npos) continue;
    const auto least_at = at + mark.size();
    const auto most_at = below.find(" to ", least_at) + 4;
    const std::string least = below.substr(least_at, most_at - 4 - least_at);
    const std::string most = below.substr(most_at, below.find_first_of(".;", most_at) - most_at);
    CHECK_FALSE(refuses(heading, least));
    CHECK_FALSE(refuses(heading, most));
    CHECK(refuses(heading, beside(least, -1)));
    CHECK(refuses(heading, beside(most, 1)));
    ++ranges;
  }
  CHECK(ranges == 17);
}

TEST_CASE("docs/configuration.md has a heading for each setting, with its default below it") {
  const auto page = headings_of_page();
  for (const setting_key& one : setting_keys) {
    CAPTURE(one.key());
    const auto found = page.find(one.key());
    if (one.how() == rank::deprecated) {
      CHECK(found == page.end());
      continue;
    }
    REQUIRE(found != page.end());
    CAPTURE(found->second);
    const std::string text =
        one.fallback.empty() ? "Default: empty." : "Default: `" + std::string(one.fallback) + "`.";
    CHECK(found->second.starts_with(text));
  }
}

TEST_CASE("docs/configuration.md says Live of the settings that change at run time, and of no other") {
  for (const auto& [heading, below] : headings_of_page()) {
    CAPTURE(heading);
    const bool live = std::find(live_keys.begin(), live_keys.end(), heading) != live_keys.end();
    CHECK(below.ends_with(" Live.") == live);
  }
}

TEST_CASE("docs/configuration.md has no heading for a setting that is unknown") {
  for (const auto& [heading, below] : headings_of_page()) {
    CAPTURE(heading);
    bool known = false;
    for (const setting_key& one : setting_keys)
      known = known || (one.key() == heading && one.how() != rank::deprecated);
    CHECK(known);
  }
}

}  // namespace app_configuration_page_test
