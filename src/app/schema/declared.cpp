#include "app/schema/declared.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <sstream>
#include <utility>

namespace outboxd::app {

std::vector<declaration> declarations_in(std::string_view sql) {
  static const std::regex made(
      "CREATE (?:OR REPLACE )?(TYPE|TABLE|FUNCTION|INDEX|TRIGGER) (?:IF NOT EXISTS "
      ")?(?:@schema@\\.)?(\\w+).*");
  static const std::regex added("ALTER TABLE @schema@\\.(\\w+) ADD COLUMN IF NOT EXISTS (.*);");
  std::vector<declaration> out;
  bool is_open = false;
  bool in_body = false;
  std::istringstream lines{std::string(sql)};
  for (std::string line; std::getline(lines, line);) {
    std::smatch is;
    if (!in_body && std::regex_match(line, is, made)) {
      auto kind = is[1].str();
      std::ranges::transform(kind, kind.begin(), [](char c) { return static_cast<char>(c - 'A' + 'a'); });
      out.push_back({kind, is[2].str(), {}});
      is_open = true;
    } else if (!in_body && std::regex_match(line, is, added)) {
      out.push_back({"column", is[1].str(), is[2].str()});
      is_open = false;
    } else if (!in_body && line.empty()) {
      is_open = false;
    }
    if (!is_open) continue;
    auto& statement = out.back().statement;
    if (out.back().kind != "function") line.resize(std::min(line.find("--"), line.size()));
    line.resize(line.find_last_not_of(' ') + 1);
    if (in_body || !line.empty()) statement += (statement.empty() ? "" : "\n") + line;
    in_body = in_body != (line.find("$outboxd$") != std::string::npos);
  }
  return out;
}

std::vector<declaration> all_declarations(const outbox_shape& shape) {
  std::vector<declaration> out = declarations_in(record_table);
  const auto add = [&](const sql_file& file) {
    auto found = declarations_in(file.sql);
    std::move(found.begin(), found.end(), std::back_inserter(out));
  };
  std::ranges::for_each(object_files(shape), add);
  std::ranges::for_each(migrations(), add);
  return out;
}

}  // namespace outboxd::app
