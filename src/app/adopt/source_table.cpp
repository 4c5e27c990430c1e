#include "app/adopt/source_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/adopt/quoting.hpp"
#include "pg/sqlstate.hpp"

namespace outboxd::app {
namespace {

result<pg::rows> ask_catalog(pg::blocking_session& session, const std::string& sql,
                             const std::vector<std::string>& parameters) {
  auto answer = session.execute(sql, parameters);
  if (!answer)
    return tl::make_unexpected(pg::refused_statement(answer.error().sqlstate, answer.error().words));
  return std::move(*answer);
}

// This session's search_path contains only PostgreSQL's own schema; the user's search_path is the initial
// one.
result<std::string> find_table(pg::blocking_session& session, const std::string& name) {
  const auto answer = session.execute(
      "SELECT pg_catalog.to_regclass($1)::pg_catalog.oid FROM (SELECT pg_catalog.set_config('search_path',"
      " s.reset_val, true) FROM pg_catalog.pg_settings AS s WHERE s.name OPERATOR(pg_catalog.=) 'search_path'"
      " OFFSET 0) AS own",
      {name});
  // Class 42: a syntax error. 0A000: the name refers to another database.
  if (!answer && (answer.error().sqlstate.starts_with("42") || answer.error().sqlstate == "0A000"))
    return permanent(fmt::format("--table '{}' is no name of a table; give SCHEMA.TABLE", name));
  if (!answer)
    return tl::make_unexpected(pg::refused_statement(answer.error().sqlstate, answer.error().words));
  // Applies until the transaction ends.
  const auto back =
      session.execute("SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)");
  if (!back) return tl::make_unexpected(pg::refused_statement(back.error().sqlstate, back.error().words));
  if (answer->size() == 0 || answer->is_null(0, 0))
    return permanent(fmt::format("there is no table {}", name));
  return std::string(answer->at(0, 0));
}

result<void> check_kind(std::string_view kind, const source_table& table) {
  const auto is = [&](std::string_view what) {
    return permanent(fmt::format("{} is {}; only a table can be adopted", table.shown(), what));
  };
  if (kind == "v") return is("a view");
  if (kind == "m") return is("a materialized view");
  if (kind == "f") return is("a foreign table");
  if (kind != "r" && kind != "p") return is("no table");
  return {};
}

result<source_table> read_facts(pg::blocking_session& session, const std::string& oid,
                                const pg::schema_name& outbox) {
  constexpr auto facts_sql =
      "SELECT n.nspname, c.relname, c.relkind, pg_get_userbyid(c.relowner), c.relispartition,"
      " c.relforcerowsecurity, EXISTS (SELECT FROM pg_constraint AS k WHERE k.confrelid = c.oid AND "
      "k.contype = 'f'),"
      " (n.nspname = $2 AND c.relname IN ('event', 'shard', 'migration', 'audit', 'discarded',"
      " 'processed_event', 'pause'))"
      " OR EXISTS (SELECT FROM pg_partition_ancestors(c.oid) AS a JOIN pg_class AS e ON e.oid = a.relid"
      " WHERE e.relname = 'event' AND e.relnamespace = (SELECT o.oid FROM pg_namespace AS o WHERE "
      "o.nspname = "
      "$2))"
      " FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = $1::oid";
  OUTBOXD_TRY(const auto facts, ask_catalog(session, facts_sql, {oid, outbox.name()}));
  if (facts.size() == 0) return permanent("the table has just been dropped");
  const auto text = [&](int column) { return std::string(facts.at(0, column)); };
  const auto holds = [&](int column) { return facts.at(0, column) == "t"; };
  source_table out;
  out.oid = oid;
  out.schema = text(0);
  out.name = text(1);
  out.owner = text(3);
  OUTBOXD_TRY_VOID(check_kind(facts.at(0, 2), out));
  if (holds(7))
    return permanent(
        fmt::format("{} is the outbox's own table; adopt copies other tables into it", out.shown()));
  out.partitioned = facts.at(0, 2) == "p";
  out.is_partition = holds(4);
  out.forces_security = holds(5);
  out.is_referenced = holds(6);
  return out;
}

result<void> read_columns(pg::blocking_session& session, source_table& into) {
  constexpr auto found_sql =
      "WITH RECURSIVE base(attnum, type) AS ("
      "  SELECT attnum, atttypid FROM pg_attribute WHERE attrelid = $1::oid AND attnum > 0 AND NOT "
      "attisdropped"
      "  UNION ALL SELECT b.attnum, t.typbasetype FROM base AS b JOIN pg_type AS t ON t.oid = b.type "
      "WHERE t.typtype = 'd')"
      " SELECT a.attname, format_type(a.atttypid, a.atttypmod),"
      " CASE WHEN t.typnamespace = 'pg_catalog'::regnamespace THEN t.typname ELSE '' END, t.typcategory,"
      " a.attnotnull, a.attidentity <> '' OR coalesce(pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%', "
      "false)"
      " FROM base AS b JOIN pg_type AS t ON t.oid = b.type AND t.typtype <> 'd'"
      " JOIN pg_attribute AS a ON a.attrelid = $1::oid AND a.attnum = b.attnum"
      " LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum ORDER BY a.attnum";
  OUTBOXD_TRY(const auto found, ask_catalog(session, found_sql, {into.oid}));
  for (int row = 0; row < found.size(); ++row)
    into.columns.push_back({.name = std::string(found.at(row, 0)),
                            .type = std::string(found.at(row, 1)),
                            .base = std::string(found.at(row, 2)),
                            .category = found.at(row, 3).front(),
                            .not_null = found.at(row, 4) == "t",
                            .counts = found.at(row, 5) == "t"});
  const auto key =
      ask_catalog(session,
                  "SELECT a.attname FROM pg_index AS i, unnest(i.indkey[0:i.indnkeyatts - 1]) WITH "
                  "ORDINALITY AS k(attnum, place)"
                  " JOIN pg_attribute AS a ON a.attrelid = $1::oid AND a.attnum = k.attnum"
                  " WHERE i.indrelid = $1::oid AND i.indisprimary ORDER BY k.place",
                  {into.oid});
  if (!key) return tl::make_unexpected(key.error());
  for (int row = 0; row < key->size(); ++row) into.primary_key.emplace_back(key->at(row, 0));
  return {};
}

std::string word_after(std::string_view comment, std::string_view key) {
  const auto at = comment.find(key);
  if (at == std::string_view::npos) return {};
  const auto value = comment.substr(at + key.size());
  return std::string(value.substr(0, value.find(' ')));
}

result<void> read_adoption(pg::blocking_session& session, source_table& into) {
  const auto found =
      ask_catalog(session,
                  "SELECT t.tgname, format('%I.%I', n.nspname, p.proname), "
                  "coalesce(obj_description(p.oid, 'pg_proc'), ''),"
                  " (SELECT format('%s.%s', pn.nspname, pc.relname) FROM pg_trigger AS pt JOIN "
                  "pg_class AS pc ON pc.oid = pt.tgrelid"
                  "  JOIN pg_namespace AS pn ON pn.oid = pc.relnamespace WHERE pt.oid = t.tgparentid)"
                  " FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid JOIN pg_namespace AS n "
                  "ON n.oid = p.pronamespace"
                  " WHERE t.tgrelid = $1::oid AND t.tgname IN ('outboxd_copy', 'outboxd_empty', "
                  "'~outboxd_update', '~outboxd_delete', '!outboxd_insert')"
                  " ORDER BY t.tgname",
                  {into.oid});
  if (!found) return tl::make_unexpected(found.error());
  for (int row = 0; row < found->size(); ++row) {
    const auto comment = found->at(row, 2);
    if (!comment.starts_with("outboxd adopt:"))
      return permanent(fmt::format("{} has a trigger {} that outboxd did not make; rename it first",
                                   into.shown(), found->at(row, 0)));
    if (!into.adoption) into.adoption.emplace();
    auto& record = *into.adoption;
    record.triggers.emplace_back(found->at(row, 0));
    if (std::find(record.functions.begin(), record.functions.end(), found->at(row, 1)) ==
        record.functions.end())
      record.functions.emplace_back(found->at(row, 1));
    if (const auto parent = found->find(row, 3)) record.through = *parent;
    if (found->at(row, 0) != "outboxd_copy") continue;
    record.kept = word_after(comment, "kept=") == "yes";
    record.backlog_taken = word_after(comment, "backlog=");
  }
  return {};
}

}  // namespace

const source_column* source_table::find(std::string_view column) const {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const source_column& one) { return one.name == column; });
  return found == columns.end() ? nullptr : &*found;
}

std::string source_table::identifier() const {
  return quoted_name(schema) + "." + quoted_name(name);
}

std::string source_table::shown() const {
  return schema + "." + name;
}

result<source_table> read_source_table(pg::blocking_session& session, const std::string& name,
                                       const pg::schema_name& outbox) {
  OUTBOXD_TRY(const auto oid, find_table(session, name));
  auto out = read_facts(session, oid, outbox);
  if (!out) return out;
  OUTBOXD_TRY_VOID(read_columns(session, *out));
  OUTBOXD_TRY_VOID(read_adoption(session, *out));
  return out;
}

}  // namespace outboxd::app
