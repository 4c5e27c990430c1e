#include "app/schema/declared.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <regex>
#include <sstream>
#include <utility>

namespace outboxd::app {
namespace {

constexpr std::string_view body_mark = "$outboxd$";
// Each needs those before it.
constexpr std::array<std::string_view, 6> kinds{"type",       "function", "table",
                                                "constraint", "index",    "trigger"};

std::string on_one_line(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' && c != '\n')
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  return out.substr(0, out.find_last_not_of(' ') + 1);
}

// The parts of a list whose items have no commas.
std::vector<std::string> items_of(const std::string& list) {
  static const std::regex item("[^,]+");
  std::vector<std::string> out;
  for (std::sregex_iterator at(list.begin(), list.end(), item), end; at != end; ++at)
    out.push_back(on_one_line(at->str()));
  return out;
}

// Columns and constraints of a table, each on one line.
std::vector<std::string> definitions_in(std::string_view table) {
  std::vector<std::string> out;
  for (auto at = table.find("\n  "); at != std::string_view::npos && at < table.find("\n)");) {
    const auto end = std::min(table.find('\n', at + 1), table.size());
    const auto line = table.substr(at + 1, end - at - 1);
    if (line.starts_with("   "))
      out.back() += " " + on_one_line(line);
    else
      out.push_back(on_one_line(line));
    at = table.find("\n  ", end);
  }
  for (auto& one : out)
    if (one.ends_with(',')) one.pop_back();
  return out;
}

class rows {
 public:
  rows(const pg::schema_name& schema, const outbox_shape& shape) : schema_(schema), shape_(shape) {}

  void add(const declaration& one) {
    if (one.kind == "function") return add_function(one);
    if (one.kind == "column") return add_column(one.name, one.statement);
    if (one.kind == "trigger") return add_trigger(one);
    object(one.kind, one.name, "", one.statement);
    if (one.kind != "table") return;
    tables_.push_back(literal(one.name));
    for (const auto& definition : definitions_in(one.statement))
      if (definition.starts_with("CONSTRAINT "))
        add_constraint(one.name, definition);
      else
        add_column(one.name, definition);
  }

  declared take() const {
    return {fmt::format("{}", fmt::join(objects_, ",\n")), fmt::format("{}", fmt::join(columns_, ",\n")),
            fmt::format("{}", fmt::join(functions_, ", ")), fmt::format("{}", fmt::join(tables_, ", "))};
  }

 private:
  std::string literal(std::string_view template_text) const {
    return text_literal(fill_in(template_text, schema_, shape_));
  }
  std::string literal_or_null(const std::string& text) const {
    return text.empty() ? "NULL::text" : literal(text);
  }

  void object(std::string_view kind, std::string_view name, std::string_view place,
              std::string_view statement, std::string_view more = "'', false, '{}'::text[], ''") {
    const auto rank = static_cast<std::size_t>(std::ranges::find(kinds, kind) - kinds.begin());
    objects_.push_back(fmt::format("({}, '{}', '{}', {}, {}, {})", 1000 * rank + objects_.size(), kind, name,
                                   literal(place), literal(statement), more));
  }

  void add_constraint(const std::string& table, const std::string& definition) {
    const auto name = definition.find(' ') + 1;
    object("constraint", definition.substr(name, definition.find(' ', name) - name), "@schema@." + table,
           fmt::format("ALTER TABLE @schema@.{} ADD {};", table, definition));
  }

  void add_column(const std::string& table, const std::string& definition) {
    static const std::regex form(
        "(\\w+) (.+?)( NOT NULL)?(?: DEFAULT (.+?)| (GENERATED .+?))?(?: REFERENCES .+)?");
    std::smatch is;
    if (!std::regex_match(definition, is, form)) return;
    columns_.push_back(fmt::format(
        "({}, '{}', '{}', {}, {}, {}, {}, {})", columns_.size(), table, is[1].str(), literal(is[2].str()),
        is[3].matched, literal_or_null(is[4].str()), literal_or_null(is[5].str()), literal(definition)));
  }

  void add_function(const declaration& one) {
    static const std::regex form(".*?\\((.*?)\\) (?:RETURNS|LANGUAGE) .*");
    static const std::regex argument("(?:VARIADIC )?\\w+ (.+?)(?: DEFAULT .+)?");
    static const std::regex setting(" SET (\\w+) = (.+?)(?= SET | AS$)");
    const auto mark = one.statement.find(body_mark);
    const auto head = on_one_line(std::string_view(one.statement).substr(0, mark));
    const auto body = one.statement.substr(mark + body_mark.size(),
                                           one.statement.rfind(body_mark) - mark - body_mark.size());
    std::smatch is;
    std::vector<std::string> types;
    std::vector<std::string> settings;
    if (std::regex_match(head, is, form))
      for (const auto& given : items_of(is[1].str()))
        if (!given.starts_with("OUT ") && std::regex_match(given, is, argument)) types.push_back(is[1].str());
    for (std::sregex_iterator at(head.begin(), head.end(), setting), end; at != end; ++at) {
      settings.push_back((*at)[1].str() + "=" + (*at)[2].str());
      std::erase(settings.back(), '\'');
    }
    std::sort(settings.begin(), settings.end());
    for (auto& each : settings) each = text_literal(each);
    const auto signature = fmt::format("@schema@.{}({})", one.name, fmt::join(types, ", "));
    functions_.push_back(fmt::format("('{}', {})", one.name, literal(signature)));
    object("function", one.name, signature, one.statement,
           fmt::format("{}, {}, ARRAY[{}]::text[], ''", literal(body),
                       head.find(" SECURITY DEFINER") != std::string::npos, fmt::join(settings, ", ")));
  }

  void add_trigger(const declaration& one) {
    static const std::regex form(".* EXECUTE FUNCTION (.+?); .* ENABLE (\\w+) TRIGGER .*");
    const auto line = on_one_line(one.statement);
    std::smatch is;
    if (std::regex_match(line, is, form))
      object("trigger", one.name, is[1].str(), line,
             fmt::format("'', false, '{{}}'::text[], '{}'", is[2].str()));
  }

  const pg::schema_name& schema_;
  const outbox_shape& shape_;
  std::vector<std::string> objects_, columns_, functions_, tables_;
};

}  // namespace

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
    in_body = in_body != (line.find(body_mark) != std::string::npos);
  }
  return out;
}

declared declared_by_all(const pg::schema_name& schema, const outbox_shape& shape) {
  rows out(schema, shape);
  const auto add = [&](std::string_view sql) {
    for (const auto& one : declarations_in(sql)) out.add(one);
  };
  add(record_table);
  for (const auto& one : object_files(shape)) add(one.sql);
  for (const auto& one : migrations()) add(one.sql);
  return out.take();
}

}  // namespace outboxd::app
