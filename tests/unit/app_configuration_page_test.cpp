// app_configuration_page_test: docs/configuration.md has a heading for each setting, with the default that
// the program has.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>

#include "app/reload.hpp"
#include "app/setting_keys.hpp"

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

}  // namespace

TEST_CASE("docs/configuration.md has a heading for each setting, with its default below it") {
  const auto page = headings_of_page();
  for (const setting_key& one : setting_keys) {
    CAPTURE(one.key());
    const auto found = page.find(one.key());
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
    for (const setting_key& one : setting_keys) known = known || one.key() == heading;
    CHECK(known);
  }
}
