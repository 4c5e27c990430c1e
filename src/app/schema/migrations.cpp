#include "app/schema/migrations.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "app/schema/differences.hpp"
#include "store/relay_statements.hpp"

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

constexpr std::string_view unless_bytea = "@unless_bytea@";
constexpr std::string_view end_unless_bytea = "@end_unless_bytea@";

// What an untyped payload of emit is taken for: a text is cast to the payload's type.
std::string payload_text(const std::string& type) {
  return type == "bytea" ? "bytea" : "text";
}

// The default of tx, as pg_get_expr shows it on one line: who shares SLEEP of every shard says nothing.
std::string bell(const pg::schema_name& schema, const outbox_shape& shape) {
  std::string shares;
  for (int shard = 0; shard < shape.shards; ++shard)
    shares += fmt::format("{}pg_try_advisory_xact_lock_shared({}, {})", shard == 0 ? "" : " AND ",
                          store::lock_class(schema), store::sleep_key + shard);
  if (shape.shards > 1) shares = "(" + shares + ")";
  return fmt::format("CASE WHEN {} THEN pg_current_xact_id() ELSE {}.ring() END", shares,
                     schema.identifier());
}

// How emit gets a payload of any other type into the table.
std::string payload_of_any(const std::string& type) {
  return type == "text" ? "emit.payload::pg_catalog.text"
                        : fmt::format("pg_catalog.to_{}(emit.payload)", type);
}

}  // namespace

std::string fill_in(const migration& which, const pg::schema_name& schema, const outbox_shape& shape,
                    std::span<const placeholder> more) {
  std::vector<placeholder> placeholders{
      {"@schema@", schema.identifier()},
      {"@schema_text@", schema.literal()},
      {"@payload_type@", shape.payload_type},
      {"@payload_text@", payload_text(shape.payload_type)},
      {"@payload_of_any@", payload_of_any(shape.payload_type)},
      {end_unless_bytea, ""},
      {"@shards@", std::to_string(shape.shards)},
      {"@lock_class@", std::to_string(store::lock_class(schema))},
      {"@notifies@", shape.notifies ? "true" : "false"},
      {"@bell@", bell(schema, shape)},
  };
  placeholders.insert(placeholders.end(), more.begin(), more.end());
  std::string out;
  std::string_view rest = which.sql;
  while (!rest.empty()) {
    const auto at = rest.find('@');
    out += rest.substr(0, at);
    if (at == std::string_view::npos) break;
    rest.remove_prefix(at);
    if (rest.starts_with(unless_bytea)) {
      rest.remove_prefix(shape.payload_type == "bytea" ? rest.find(end_unless_bytea) : unless_bytea.size());
      continue;
    }
    bool replaced = false;
    for (const auto& [word, text] : placeholders) {
      if (!rest.starts_with(word)) continue;
      out += text;
      rest.remove_prefix(word.size());
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

namespace {

constexpr std::string_view doorbell = "0001_doorbell";

// Beside a writer that is open the table's lock is not to be had. Then writers do not look at the new shards
// yet, and their leaders poll.
constexpr std::string_view other_bell = R"(
DO $bell$
BEGIN
  ALTER TABLE {0}.event ALTER tx SET DEFAULT {1};
EXCEPTION WHEN lock_not_available THEN
  NULL;
END
$bell$;
)";

// Nothing that a leader of an old shard had not read may be above the position of a new one: the lowest seq,
// and what all of them had seen.
// PostgreSQL 14 has no min(xid8).
constexpr std::string_view merge_positions = R"(
WITH lowest AS (
  SELECT (SELECT pg_snapshot_xmin(t.seen) AS x FROM {0}.shard AS t ORDER BY x LIMIT 1) AS xmin,
         (SELECT pg_snapshot_xmax(t.seen) AS x FROM {0}.shard AS t ORDER BY x LIMIT 1) AS xmax)
INSERT INTO {0}.shard (shard, seq, seen, unsettled, system_identifier, saved_by)
SELECT n, m.seq, m.seen, m.unsettled, m.server, m.saved_by
FROM generate_series(0, {1}) AS n
CROSS JOIN (
  SELECT CASE WHEN bool_and(s.seq IS NOT NULL) THEN min(s.seq) END AS seq,
         CASE WHEN bool_and(s.seen IS NOT NULL)
           THEN (SELECT format('%s:%s:%s', l.xmin, l.xmax,
                   coalesce((SELECT string_agg(o.x::text, ',' ORDER BY o.x) FROM (
                     SELECT DISTINCT x FROM {0}.shard AS u CROSS JOIN LATERAL pg_snapshot_xip(u.seen) AS x
                     WHERE x < l.xmax) AS o), ''))::pg_snapshot
                 FROM lowest AS l) END AS seen,
         (SELECT coalesce(array_agg(i), '{{}}')
          FROM {0}.shard AS t CROSS JOIN LATERAL unnest(t.unsettled) AS i) AS unsettled,
         CASE WHEN min(s.system_identifier) = max(s.system_identifier)
           THEN min(s.system_identifier) END AS server,
         CASE WHEN bool_and(s.xmin = s.saved_by::xid) THEN pg_current_xact_id() END AS saved_by
  FROM {0}.shard AS s) AS m
ON CONFLICT (shard) DO UPDATE
SET seq = excluded.seq, seen = excluded.seen, unsettled = excluded.unsettled,
    system_identifier = excluded.system_identifier, saved_by = excluded.saved_by;
)";

}  // namespace

std::string reshape(const pg::schema_name& schema, const outbox_shape& shape) {
  std::string out;
  for (int shard = 0; shard < shape.shards; ++shard)
    out += fmt::format("SELECT pg_advisory_xact_lock({}, {});\n", store::lock_class(schema),
                       store::lead_key + shard);
  for (const migration& one : migrations())
    if (one.name == doorbell) out += fill_in(one, schema, shape);
  out += fmt::format(other_bell, schema.identifier(), bell(schema, shape));
  out += fmt::format(merge_positions, schema.identifier(), shape.shards - 1);
  out += fmt::format("UPDATE {}.shard SET rings = {};\n", schema.identifier(), shape.notifies);
  return out;
}

std::string whole_script(const pg::schema_name& schema, const outbox_shape& shape) {
  std::string out = "BEGIN;\nSET LOCAL search_path = pg_catalog, pg_temp;\n\n";
  out += fmt::format("CREATE SCHEMA IF NOT EXISTS {};\n\n", schema.identifier());
  out += record_table(schema);
  for (const migration& one : migrations()) {
    out += fmt::format("\n-- {}\n\n", one.name);
    out += fill_in(one, schema, shape);
    out += "\n" + record_of(one, schema);
  }
  out += "\n-- Roles and rights\n\n" + state_script(schema, shape) + "\nCOMMIT;\n";
  return out;
}

}  // namespace outboxd::app
