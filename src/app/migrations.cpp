#include "app/migrations.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace outboxd::app {

std::optional<payload_type> parse_payload_type(std::string_view name) {
  constexpr std::array names{std::pair{std::string_view("jsonb"), payload_type::jsonb},
                             std::pair{std::string_view("json"), payload_type::json},
                             std::pair{std::string_view("text"), payload_type::text},
                             std::pair{std::string_view("bytea"), payload_type::bytea}};
  for (const auto& [known, type] : names)
    if (known == name) return type;
  return std::nullopt;
}

std::string fill_in(const migration& which, const pg::schema_name& schema, std::string_view payload_type) {
  const std::array<std::pair<std::string_view, std::string>, 4> placeholders{{
      {"@schema@", schema.identifier()},
      {"@schema_text@", schema.literal()},
      {"@payload_type@", std::string(payload_type)},
      // octet_length of json and text needs no detoasting, of jsonb it needs the text; bytea has its own.
      {"@payload_octets@", payload_type == "bytea" ? "bytea" : "text"},
  }};
  std::string out;
  std::string_view rest = which.sql;
  while (!rest.empty()) {
    const auto at = rest.find('@');
    out += rest.substr(0, at);
    if (at == std::string_view::npos) break;
    rest.remove_prefix(at);
    bool replaced = false;
    for (const auto& [placeholder, text] : placeholders) {
      if (!rest.starts_with(placeholder)) continue;
      out += text;
      rest.remove_prefix(placeholder.size());
      replaced = true;
      break;
    }
    if (replaced) continue;
    out.push_back('@');
    rest.remove_prefix(1);
  }
  return out;
}

std::string record_table(const pg::schema_name& schema) {
  return fmt::format(
      "CREATE TABLE IF NOT EXISTS {}.migration (\n"
      "  version    integer     NOT NULL PRIMARY KEY,\n"
      "  name       text        NOT NULL,\n"
      "  applied_at timestamptz NOT NULL DEFAULT now()\n"
      ");\n",
      schema.identifier());
}

std::string record_of(const migration& which, const pg::schema_name& schema) {
  return fmt::format("INSERT INTO {}.migration (version, name) VALUES ({}, '{}');\n", schema.identifier(),
                     which.version, which.name);
}

std::string set_doorbell(const pg::schema_name& schema, bool rings) {
  auto out = fmt::format("DROP TRIGGER IF EXISTS event_doorbell ON {}.event;\n", schema.identifier());
  if (rings)
    out += fmt::format(
        "CREATE TRIGGER event_doorbell AFTER INSERT ON {0}.event\n"
        "  FOR EACH STATEMENT EXECUTE FUNCTION {0}.ring_doorbell();\n",
        schema.identifier());
  return out;
}

std::string whole_script(const pg::schema_name& schema, std::string_view payload_type, bool rings) {
  std::string out = "BEGIN;\n\n";
  out += fmt::format("CREATE SCHEMA IF NOT EXISTS {};\n\n", schema.identifier());
  out += record_table(schema);
  for (const migration& one : migrations()) {
    out += fmt::format("\n-- {}\n\n", one.name);
    out += fill_in(one, schema, payload_type);
    out += "\n" + record_of(one, schema);
  }
  if (!rings) out += "\n-- --no-notify\n\n" + set_doorbell(schema, rings);
  out += "\nCOMMIT;\n";
  return out;
}

}  // namespace outboxd::app
