// architecture_page_test: docs/architecture.md names no file that is not there, and leaves out no part of the
// flow or of the relay.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace architecture_page_test {

namespace fs = std::filesystem;

namespace {

const fs::path root = OUTBOXD_SOURCE_DIR;

// What the page has between backticks.
std::set<std::string> names_of_page() {
  std::ifstream page(root / "docs/architecture.md");
  REQUIRE(page.is_open());
  std::set<std::string> out;
  for (std::string line; std::getline(page, line);)
    for (std::size_t at = line.find('`'); at != std::string::npos;) {
      const auto end = line.find('`', at + 1);
      if (end == std::string::npos) break;
      out.insert(line.substr(at + 1, end - at - 1));
      at = line.find('`', end + 1);
    }
  return out;
}

// sql/{a,b}.sql: sql/a.sql and sql/b.sql.
std::vector<std::string> without_braces(const std::string& name) {
  const auto open = name.find('{');
  const auto close = name.find('}');
  if (open == std::string::npos || close == std::string::npos) return {name};
  std::vector<std::string> out;
  for (std::size_t at = open + 1; at < close;) {
    const auto end = std::min(close, name.find(',', at));
    out.push_back(name.substr(0, open) + name.substr(at, end - at) + name.substr(close + 1));
    at = end + 1;
  }
  return out;
}

// A path, as the page writes them: in lower case, for upper case stands for any name.
bool is_path(const std::string& name) {
  return name.find('/') != std::string::npos && name.front() != '/' &&
         std::ranges::all_of(name, [](unsigned char c) {
           return std::islower(c) != 0 || std::isdigit(c) != 0 ||
                  std::string_view("_/.-*").find(static_cast<char>(c)) != std::string_view::npos;
         });
}

bool exists(const std::string& name) {
  const auto star = name.find('*');
  for (const char* const below : {"", "src"})
    for (const char* const ending : {"", ".hpp", ".cpp"}) {
      if (star == std::string::npos) {
        if (fs::exists(root / below / (name + ending))) return true;
        continue;
      }
      const auto folder = root / below / fs::path(name).parent_path();
      const auto tail = name.substr(star + 1);
      if (fs::is_directory(folder) &&
          std::ranges::any_of(fs::directory_iterator(folder), [&](const auto& one) {
            return one.path().filename().string().ends_with(tail);
          }))
        return true;
    }
  return false;
}

}  // namespace

TEST_CASE("the page of the architecture names files and folders that are there") {
  std::size_t paths = 0;
  for (const std::string& name : names_of_page())
    for (const std::string& one : without_braces(name)) {
      if (!is_path(one)) continue;
      CAPTURE(one);
      CHECK(exists(one));
      ++paths;
    }
  CHECK(paths > 100);
}

TEST_CASE("the page of the architecture tells of every part of flow, store and relay") {
  const auto names = names_of_page();
  for (const char* const room : {"flow", "store", "relay"})
    for (const auto& one : fs::recursive_directory_iterator(root / "src" / room)) {
      if (one.path().extension() != ".hpp") continue;
      const auto part = one.path().stem().string();
      const auto path = (fs::relative(one.path().parent_path(), root / "src") / part).string();
      CAPTURE(path);
      CHECK((names.contains(path) || names.contains(path + ".hpp") || names.contains(path + ".cpp") ||
             names.contains(part)));
    }
}

}  // namespace architecture_page_test
