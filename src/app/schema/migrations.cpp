#include "app/schema/migrations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "app/schema/differences.hpp"
#include "store/relay_statements.hpp"
#include "store/rights.hpp"

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

namespace {

// Object files that an outbox with bytea payloads does not have.
constexpr std::string_view not_for_bytea = "emit_any";
constexpr std::string_view triggers = "triggers";
constexpr std::string_view doorbell = "doorbell";

// The type that emit assumes for an untyped payload. A text is cast to the payload's type.
std::string payload_text(const std::string& type) {
  return type == "bytea" ? "bytea" : "text";
}

// The default of tx on one line, as pg_get_expr shows it: a writer that shares SLEEP of every shard does not
// notify.
std::string bell(const pg::schema_name& schema, const outbox_shape& shape) {
  std::string shares;
  for (int shard = 0; shard < shape.shards; ++shard)
    shares += fmt::format("{}pg_try_advisory_xact_lock_shared({}, {})", shard == 0 ? "" : " AND ",
                          store::lock_class(schema), store::sleep_key + shard);
  if (shape.shards > 1) shares = "(" + shares + ")";
  return fmt::format("CASE WHEN {} THEN pg_current_xact_id() ELSE {}.ring() END", shares,
                     schema.identifier());
}

// The expression with which emit stores a payload of any other type.
std::string payload_of_any(const std::string& type) {
  return type == "text" ? "emit.payload::pg_catalog.text"
                        : fmt::format("pg_catalog.to_{}(emit.payload)", type);
}

}  // namespace

int version_of(const sql_file& migration) {
  int out = 0;
  std::from_chars(migration.name.data(), migration.name.data() + migration.name.size(), out);
  return out;
}

std::vector<sql_file> object_files(const outbox_shape& shape) {
  const auto all = all_object_files();
  std::vector<sql_file> out(all.begin(), all.end());
  if (shape.payload_type == "bytea")
    std::erase_if(out, [](const sql_file& one) { return one.name == not_for_bytea; });
  return out;
}

std::string fill_in(std::string_view sql, const pg::schema_name& schema, const outbox_shape& shape,
                    std::span<const placeholder> more) {
  std::vector<placeholder> placeholders{
      {"@schema@", schema.identifier()},
      {"@schema_text@", schema.literal()},
      {"@payload_type@", shape.payload_type},
      {"@payload_text@", payload_text(shape.payload_type)},
      {"@payload_of_any@", payload_of_any(shape.payload_type)},
      {"@shards@", std::to_string(shape.shards)},
      {"@notifies@", shape.notifies ? "true" : "false"},
      {"@bell@", bell(schema, shape)},
  };
  const auto locks = store::lock_placeholders(schema);
  placeholders.insert(placeholders.end(), locks.begin(), locks.end());
  placeholders.insert(placeholders.end(), more.begin(), more.end());
  std::string out;
  for (auto at = sql.find('@'); at != std::string_view::npos; at = sql.find('@')) {
    out += sql.substr(0, at);
    sql.remove_prefix(at);
    const auto is = std::ranges::find_if(placeholders,
                                         [&](const placeholder& one) { return sql.starts_with(one.first); });
    out += is == placeholders.end() ? "@" : is->second;
    sql.remove_prefix(is == placeholders.end() ? 1 : is->first.size());
  }
  return out.append(sql);
}

std::string text_literal(std::string_view text) {
  std::string out = "E'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out.push_back(c);
    out.push_back(c);
  }
  return out + "'";
}

std::string record_of(const sql_file& migration, const pg::schema_name& schema) {
  return fmt::format("INSERT INTO {}.migration (version, name) VALUES ({}, '{}');\n", schema.identifier(),
                     version_of(migration), migration.name);
}

std::string reshape(const pg::schema_name& schema, const outbox_shape& shape) {
  std::string out;
  for (const auto& one : all_object_files())
    if (one.name == doorbell) out += fill_in(one.sql, schema, shape);
  return out + fill_in(store::state_text("reshape"), schema, shape);
}

// Functions are created before the tables whose defaults and indexes call them, so the tables named in
// function bodies must not be checked yet.
std::string script(const pg::schema_name& schema, const outbox_shape& shape) {
  std::string out = "SET LOCAL check_function_bodies = off;\n";
  const auto add = [&](const sql_file& one) {
    out += fmt::format("\n-- {}\n\n{}", one.name, fill_in(one.sql, schema, shape));
  };
  std::vector<sql_file> last;
  for (const auto& one : object_files(shape))
    if (one.name == triggers)
      last.push_back(one);
    else
      add(one);
  for (const auto& one : migrations()) {
    add(one);
    out += "\n" + record_of(one, schema);
  }
  for (const auto& one : last) add(one);
  return out;
}

namespace {

// A single statement, so that any tool runs it as one transaction, or as part of the transaction that the
// tool has begun. It restores the settings for the tool's later statements. A tool that takes question marks
// for parameters, such as Knex, would change functions without an error, so the script checks for that.
constexpr std::string_view script_beginning = R"(DO $migrate$
DECLARE
  callers_path   CONSTANT text := pg_catalog.current_setting('search_path');
  callers_checks CONSTANT text := pg_catalog.current_setting('check_function_bodies');
  found integer;
BEGIN
IF '?' <> pg_catalog.chr(63) THEN
  RAISE EXCEPTION 'the tool that runs this script has replaced its question marks'
    USING HINT = 'Escape them. For Knex, put a backslash before each.';
END IF;
IF pg_catalog.to_regclass(pg_catalog.format('%I.migration', {0})) IS NOT NULL THEN
  SELECT pg_catalog.max(m.version) INTO found FROM {1}.migration AS m;
  IF found = {2} THEN
    RAISE NOTICE 'schema % is already at version {2}: nothing was changed', {0};
    RETURN;
  ELSIF found IS NOT NULL THEN
    RAISE EXCEPTION 'schema % is at version %, and this script makes version {2}', {0}, found
      USING HINT = 'Run outboxd migrate.';
  END IF;
END IF;
SET LOCAL search_path = pg_catalog, pg_temp;

CREATE SCHEMA IF NOT EXISTS {1};
)";
constexpr std::string_view script_end = R"(
PERFORM set_config('search_path', callers_path, true),
        set_config('check_function_bodies', callers_checks, true);
END
$migrate$;
)";

}  // namespace

std::string whole_script(const pg::schema_name& schema, const outbox_shape& shape) {
  return fmt::format(fmt::runtime(script_beginning), schema.literal(), schema.identifier(),
                     version_of(migrations().back())) +
         fmt::format("{}\n{}\n-- Roles and rights\n\n{}", fill_in(record_table, schema, shape),
                     script(schema, shape), state_script(schema, shape)) +
         std::string(script_end);
}

}  // namespace outboxd::app
