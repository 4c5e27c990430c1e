#include "app/schema/made.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "app/schema/statements.hpp"

namespace outboxd::app {
namespace {

constexpr std::string_view body_mark = "$outboxd$";

// Behind a column's type.
constexpr std::array<std::string_view, 6> column_clauses{" NOT NULL",    " DEFAULT ", " GENERATED ",
                                                         " PRIMARY KEY", " CHECK ",   " REFERENCES "};

class reading {
 public:
  explicit reading(const pg::schema_name& schema) : prefix_(schema.identifier() + ".") {}

  void add(const std::string& statement) {
    if (const auto name = made_in_schema(statement, {"CREATE TYPE "}))
      out_.objects.push_back({.what = made_object::kind::type, .name = *name, .statement = statement + ";"});
    else if (const auto table = made_in_schema(statement, {"CREATE TABLE ", "CREATE TABLE IF NOT EXISTS "}))
      add_table(*table, statement);
    else if (const auto function =
                 made_in_schema(statement, {"CREATE FUNCTION ", "CREATE OR REPLACE FUNCTION "}))
      add_function(*function, statement);
    else if (statement.starts_with("CREATE INDEX "))
      out_.objects.push_back({.what = made_object::kind::index,
                              .name = word_at(statement, std::string_view("CREATE INDEX ").size()),
                              .statement = on_one_line(statement) + ";"});
    else if (const auto column = "ALTER TABLE " + prefix_ + "event ADD COLUMN IF NOT EXISTS ";
             statement.starts_with(column))
      add_column("event", statement.substr(column.size()));
    else if (statement.starts_with("CREATE TRIGGER "))
      add_trigger(statement);
    else if (statement.starts_with("ALTER TABLE " + prefix_ + "event ENABLE "))
      enable_trigger(statement);
  }
  made take() { return std::move(out_); }

 private:
  static std::string word_at(std::string_view text, std::size_t at) {
    const auto end = text.find_first_of(" (\n", at);
    return std::string(text.substr(at, end - at));
  }

  std::optional<std::string> made_in_schema(const std::string& statement,
                                            std::initializer_list<std::string_view> beginnings) const {
    for (const auto& beginning : beginnings)
      if (statement.starts_with(beginning) && statement.substr(beginning.size()).starts_with(prefix_))
        return word_at(statement, beginning.size() + prefix_.size());
    return std::nullopt;
  }

  void add_table(const std::string& name, const std::string& statement) {
    const auto open = statement.find('(', statement.find(prefix_) + prefix_.size());
    out_.objects.push_back({.what = made_object::kind::table, .name = name, .statement = statement + ";"});
    for (const auto& part : list_of(
             std::string_view(statement).substr(open + 1, closing_parenthesis(statement, open) - open - 1))) {
      constexpr std::string_view constraint = "CONSTRAINT ";
      if (part.starts_with(constraint))
        add_constraint(name, word_at(part, constraint.size()), part);
      else
        add_column(name, part);
    }
  }

  void add_constraint(const std::string& table, const std::string& name, const std::string& definition) {
    const auto place = prefix_ + table;
    out_.objects.push_back({.what = made_object::kind::constraint,
                            .name = name,
                            .place = place,
                            .statement = fmt::format("ALTER TABLE {} ADD {};", place, definition)});
  }

  void add_column(const std::string& table, const std::string& definition) {
    made_column one{.table = table, .name = word_at(definition, 0), .definition = definition};
    const auto rest = definition.substr(one.name.size() + 1);
    std::vector<std::size_t> clauses{rest.size()};
    for (const auto& clause : column_clauses)
      clauses.push_back(std::min(find_words(rest, clause), rest.size()));
    const auto until = [&](std::size_t from) {
      std::size_t end = rest.size();
      for (const auto at : clauses)
        if (at >= from) end = std::min(end, at);
      return rest.substr(from, end - from);
    };
    one.type = until(0);
    const bool is_key = find_words(rest, " PRIMARY KEY") != std::string::npos;
    one.needed = is_key || find_words(rest, " NOT NULL") != std::string::npos;
    constexpr std::string_view by_default = " DEFAULT ";
    if (const auto at = find_words(rest, by_default); at != std::string::npos)
      if (find_words(rest, " GENERATED ") == std::string::npos) one.fallback = until(at + by_default.size());
    if (const auto at = find_words(rest, " GENERATED "); at != std::string::npos)
      one.identity = rest.substr(at + 1);
    if (is_key && !one.identity.empty()) one.identity = until(find_words(rest, " GENERATED ") + 1);
    if (is_key)
      add_constraint(table, table + "_pkey",
                     fmt::format("CONSTRAINT {}_pkey PRIMARY KEY ({})", table, one.name));
    out_.columns.push_back(std::move(one));
  }

  void add_function(const std::string& name, const std::string& statement) {
    const auto open = statement.find('(', statement.find(prefix_) + prefix_.size());
    const auto close = closing_parenthesis(statement, open);
    const auto mark = statement.find(body_mark, close);
    const auto begin = mark + body_mark.size();
    const auto head = on_one_line(std::string_view(statement).substr(close + 1, mark - close - 1));
    made_object one{
        .what = made_object::kind::function,
        .name = name,
        .place = fmt::format("{}{}({})", prefix_, name,
                             types_of(std::string_view(statement).substr(open + 1, close - open - 1))),
        .statement = "CREATE OR REPLACE FUNCTION " + statement.substr(statement.find(prefix_)) + ";",
        .body = statement.substr(begin, statement.rfind(body_mark) - begin),
        .definer = head.find("SECURITY DEFINER") != std::string::npos,
        .settings = settings_of(head)};
    out_.objects.push_back(std::move(one));
  }

  // Of arguments that all have names.
  static std::string types_of(std::string_view arguments) {
    std::string out;
    for (std::string_view one : list_of(arguments)) {
      if (one.starts_with("OUT ")) continue;
      if (one.starts_with("VARIADIC ")) one.remove_prefix(std::string_view("VARIADIC ").size());
      one = one.substr(0, find_words(one, " DEFAULT "));
      out += fmt::format("{}{}", out.empty() ? "" : ", ", one.substr(one.find(' ') + 1));
    }
    return out;
  }

  // As pg_proc.proconfig has them, in order. Of what is before AS they stand last.
  static std::vector<std::string> settings_of(const std::string& head) {
    constexpr std::string_view set = " SET ";
    std::vector<std::string> out;
    for (auto at = head.find(set); at != std::string::npos;) {
      const auto next = head.find(set, at + set.size());
      const auto last = head.rfind(" AS");
      auto one = head.substr(at + set.size(), std::min(next, last) - at - set.size());
      one.replace(one.find(" = "), 3, "=");
      std::erase(one, '\'');
      out.push_back(std::move(one));
      at = next;
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  void add_trigger(const std::string& statement) {
    constexpr std::string_view calls = "EXECUTE FUNCTION ";
    const auto name = word_at(statement, std::string_view("CREATE TRIGGER ").size());
    const auto line = on_one_line(statement);
    out_.objects.push_back({.what = made_object::kind::trigger,
                            .name = name,
                            .place = line.substr(line.rfind(calls) + calls.size()),
                            .statement = line + ";"});
  }

  // ALTER TABLE ... ENABLE ALWAYS TRIGGER name: it follows the trigger, if that is made here.
  void enable_trigger(const std::string& statement) {
    if (out_.objects.empty() || !statement.ends_with(" TRIGGER " + out_.objects.back().name)) return;
    auto& trigger = out_.objects.back();
    trigger.fires = word_at(statement, ("ALTER TABLE " + prefix_ + "event ENABLE ").size());
    trigger.statement += " " + statement + ";";
  }

  std::string prefix_;
  made out_;
};

}  // namespace

std::string_view name_of(made_object::kind what) {
  switch (what) {
    case made_object::kind::type:
      return "type";
    case made_object::kind::table:
      return "table";
    case made_object::kind::index:
      return "index";
    case made_object::kind::constraint:
      return "constraint";
    case made_object::kind::function:
      return "function";
    case made_object::kind::trigger:
      return "trigger";
  }
  return "";
}

made made_by(std::string_view sql, const pg::schema_name& schema) {
  reading out(schema);
  for (const auto& one : statements_of(sql)) out.add(one);
  return out.take();
}

made made_by_all(const pg::schema_name& schema, const outbox_shape& shape) {
  auto sql = record_table(schema);
  for (const migration& one : migrations()) sql += fill_in(one, schema, shape);
  return made_by(sql, schema);
}

}  // namespace outboxd::app
