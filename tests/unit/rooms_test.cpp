// rooms_test: each folder of the program says in its README what it may use, and uses nothing else.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace rooms_test {

namespace fs = std::filesystem;

namespace {

const fs::path source = fs::path(OUTBOXD_SOURCE_DIR) / "src";

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream in(file);
  REQUIRE(in.is_open());
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// A folder with a README, and what that says that it may use.
std::map<std::string, std::set<std::string>> find_rooms() {
  std::map<std::string, std::set<std::string>> out;
  for (const auto& one : fs::recursive_directory_iterator(source)) {
    if (one.path().filename() != "README.md") continue;
    const auto name = fs::relative(one.path().parent_path(), source).string();
    const auto lines = lines_of(one.path());
    CAPTURE(name);
    CHECK(lines.size() <= 15);
    const auto uses =
        std::ranges::find_if(lines, [](const auto& line) { return line.starts_with("May use: "); });
    REQUIRE(uses != lines.end());
    std::string list;
    for (auto line = uses; line != lines.end(); ++line) list += *line;
    auto& may = out[name];
    for (std::size_t at = list.find('`'); at != std::string::npos;) {
      const auto end = list.find('`', at + 1);
      REQUIRE(end != std::string::npos);
      may.insert(list.substr(at + 1, end - at - 1));
      at = list.find('`', end + 1);
    }
  }
  return out;
}

}  // namespace

TEST_CASE(
    "each folder of the program uses what its README allows, and nothing else, and none uses its user") {
  const auto rooms = find_rooms();
  CHECK(rooms.size() >= 12);
  const auto room_of = [&](fs::path folder) {
    while (!folder.empty() && !rooms.contains(folder.string())) folder = folder.parent_path();
    return folder.string();
  };
  for (const auto& [room, may] : rooms)
    for (const std::string& one : may) {
      CAPTURE(room);
      CAPTURE(one);
      REQUIRE(rooms.contains(one));
      CHECK_FALSE(rooms.at(one).contains(room));
    }
  std::size_t includes = 0;
  for (const auto& one : fs::recursive_directory_iterator(source)) {
    const auto extension = one.path().extension();
    if ((extension != ".hpp" && extension != ".cpp") || one.path().filename() == "main.cpp") continue;
    const auto file = fs::relative(one.path(), source);
    const auto room = room_of(file.parent_path());
    CAPTURE(file.string());
    REQUIRE_FALSE(room.empty());
    for (const std::string& line : lines_of(one.path())) {
      constexpr std::string_view mark = "#include \"";
      if (!line.starts_with(mark)) continue;
      const auto used = room_of(fs::path(line.substr(mark.size())).parent_path());
      ++includes;
      CAPTURE(line);
      CHECK((used.empty() || used == room || rooms.at(room).contains(used)));
    }
  }
  CHECK(includes > 500);
}

}  // namespace rooms_test
