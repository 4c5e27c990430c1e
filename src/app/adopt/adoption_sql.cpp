#include "app/adopt/adoption_sql.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <tuple>

#include "app/adopt/quoting.hpp"

namespace outboxd::app {
namespace {

// Statement triggers cost half as much as row triggers when many rows are inserted at once. But they fire
// only for the table that the statement names, and a partition also receives rows through its parent.
bool takes_row_by_row(const source_table& table) {
  return table.partitioned || table.is_partition;
}

// Rows of inheriting tables are not in the table itself.
std::string rows_of(const source_table& table) {
  return (table.partitioned ? "" : "ONLY ") + table.identifier();
}

std::string function_name(const source_table& table, std::string_view does) {
  return fmt::format("{}.{}", quoted_name(table.schema),
                     quoted_name(fmt::format("outboxd_{}_{}", does, table.oid)));
}

std::string insert_head(const adoption& what) {
  std::string names;
  for (const auto& one : what.event)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(one.field));
  return fmt::format("INSERT INTO {}.event ({})", what.outbox.identifier(), names);
}

// The column id of an event accepts no null, and its default applies only if the column is omitted.
std::string expressions(const adoption& what) {
  std::string out;
  for (const auto& one : what.event) {
    const bool may_be_null = one.field == event_field::id;
    out += fmt::format(
        "{}\n    {}", out.empty() ? "" : ",",
        may_be_null ? fmt::format("COALESCE({}, pg_catalog.gen_random_uuid())", one.sql) : one.sql);
  }
  return out;
}

// The condition under which a row can become an event. It belongs in function bodies, which run with the
// owner's rights, and never in a trigger's WHEN, which is evaluated with the rights of the inserting user.
std::string fit_condition(const adoption& what, std::string_view before) {
  return what.fits.empty() ? "" : fmt::format("{}{}", before, fmt::join(what.fits, " AND "));
}

std::string insert_tail(const adoption& what) {
  return what.passes_twins ? "\n  ON CONFLICT DO NOTHING" : "";
}

// On its own lines, because the condition may end with a comment.
std::string user_condition(const adoption& what, std::string_view before) {
  return what.where.empty() ? "" : fmt::format("{}(\n{}\n)", before, what.where);
}

// Any user may attach a function as a trigger to their own table, unless EXECUTE is revoked from PUBLIC.
std::string function(const std::string& name, std::string_view settings, const std::string& body,
                     const std::string& comment) {
  return fmt::format(
      "CREATE FUNCTION {0}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER{1} AS {2};\n"
      "REVOKE ALL ON FUNCTION {0}() FROM PUBLIC;\n"
      "COMMENT ON FUNCTION {0}() IS {3};\n",
      name, settings, quoted_body(body), quoted_text(comment));
}

// These functions run with the rights of the table's owner, and after a restore without privileges, any user
// could attach them to their own table. A renamed table is not detected.
std::string guard(const source_table& table) {
  const auto name = fmt::format("pg_catalog.to_regclass({})", quoted_text(table.identifier()));
  const auto is_partition =
      table.partitioned
          ? fmt::format(
                "\n     AND NOT EXISTS (SELECT FROM pg_catalog.pg_partition_ancestors(TG_RELID) "
                "AS a\n                     WHERE a.relid OPERATOR(pg_catalog.=) {})",
                name)
          : std::string();
  return fmt::format(
      "  IF {} OPERATOR(pg_catalog.<>) TG_RELID{} THEN\n"
      "    RAISE insufficient_privilege USING MESSAGE = {};\n  END IF;\n",
      name, is_partition, quoted_text(fmt::format("this trigger is for {} alone", table.shown())));
}

// For the rows of a statement or of a backlog.
std::string row_condition(const adoption& what, std::string_view before) {
  return user_condition(what, before) + fit_condition(what, what.where.empty() ? before : " AND ");
}

std::string id_of(const adoption& what) {
  for (const auto& one : what.event)
    if (one.field == event_field::id) return one.sql;
  return "";
}

// A condition: the outbox has an event with this id for which the given condition (over twin) is true.
std::string has_event(const adoption& what, std::string_view condition) {
  return fmt::format("EXISTS (SELECT FROM {}.event AS twin WHERE twin.id OPERATOR(pg_catalog.=) {}{})",
                     what.outbox.identifier(), id_of(what), condition);
}

// For the rows of a backlog: an id that the outbox has already belongs to another row.
std::string backlog_condition(const adoption& what, std::string_view before) {
  const auto condition = row_condition(what, before);
  if (!what.passes_twins) return condition;
  return fmt::format("{}{}NOT {}", condition, condition.empty() ? before : " AND ", has_event(what, ""));
}

// Before the INSERT instead of in its WHERE: the planner treats the values of NEW as constants, and would
// cast them first.
constexpr std::string_view unfit_returns = "  IF ({}) IS NOT TRUE THEN\n    RETURN NULL;\n  END IF;\n";

// The body of a statement trigger contains the user's condition, so its search_path is set. The other
// functions schema-qualify all names, because setting search_path would double their cost per row.
std::string copy_function(const adoption& what, const std::string& comment) {
  const auto name = function_name(what.from, "copy");
  if (takes_row_by_row(what.from))
    return function(
        name, "",
        fmt::format("\nBEGIN\n{}{}  {}\n  VALUES ({}){};\n  RETURN NULL;\nEND\n", guard(what.from),
                    what.fits.empty() ? "" : fmt::format(unfit_returns, fit_condition(what, "")),
                    insert_head(what), expressions(what), insert_tail(what)),
        comment);
  return function(
      name, "\nSET search_path = pg_catalog, pg_temp",
      fmt::format("\n#variable_conflict use_column\nBEGIN\n{}  {}\n  SELECT{}\n  FROM outboxd_rows AS "
                  "new{}{};\n  RETURN NULL;\nEND\n",
                  guard(what.from), insert_head(what), expressions(what), row_condition(what, "\n  WHERE "),
                  insert_tail(what)),
      comment);
}

// The state of the row that is being written, kept per trigger depth, so that rows written by other triggers
// in the meantime use a different setting. A condition is evaluated at that depth, a function one level
// deeper.
constexpr std::string_view row_state_in_condition =
    "pg_catalog.current_setting('outboxd.row_' OPERATOR(pg_catalog.||) pg_catalog.pg_trigger_depth(), true)";
constexpr std::string_view row_state_name_in_function =
    "'outboxd.row_' OPERATOR(pg_catalog.||) (pg_catalog.pg_trigger_depth() OPERATOR(pg_catalog.-) 1)";

// WHEN is evaluated when the row is inserted, at almost no cost.
std::string when(const adoption& what) {
  if (what.from.partitioned)
    return fmt::format("\n  WHEN (coalesce({}, '') OPERATOR(pg_catalog.<>) 'moved'{})",
                       row_state_in_condition, user_condition(what, " AND "));
  return user_condition(what, "\n  WHEN ");
}

std::string copy_trigger(const adoption& what) {
  const auto name = function_name(what.from, "copy");
  if (takes_row_by_row(what.from))
    return fmt::format(
        "CREATE TRIGGER outboxd_copy AFTER INSERT ON {}\n  FOR EACH ROW{}\n  EXECUTE FUNCTION {}();\n",
        what.from.identifier(), when(what), name);
  return fmt::format(
      "CREATE TRIGGER outboxd_copy AFTER INSERT ON {}\n  REFERENCING NEW TABLE AS outboxd_rows\n"
      "  FOR EACH STATEMENT EXECUTE FUNCTION {}();\n",
      what.from.identifier(), name);
}

std::string same_key(const adoption& what, std::string_view left, std::string_view right) {
  std::string out;
  for (const auto& column : what.from.primary_key)
    out += fmt::format("{}{}.{} OPERATOR(pg_catalog.=) {}.{}", out.empty() ? "" : " AND ", left,
                       quoted_name(column), right, quoted_name(column));
  return out;
}

// A row whose id another transaction has used was not copied, so it stays. Otherwise, a user who guesses an
// id in time could make another user's row disappear. created_at is the start time of a transaction, and only
// the outbox can set it.
std::string unless_twin(const adoption& what) {
  if (!what.passes_twins) return "";
  const auto is_copied = has_event(what, " AND twin.created_at OPERATOR(pg_catalog.=) pg_catalog.now()");
  const auto fits = what.fits.empty() ? "" : fmt::format(unfit_returns, fit_condition(what, ""));
  return fmt::format("{}  IF {} IS NOT NULL AND NOT {} THEN\n    RETURN NULL;\n  END IF;\n", fits,
                     id_of(what), is_copied);
}

// At the end of the transaction, so that the inserting program can read, change and delete the row until
// then.
std::string emptying(const adoption& what) {
  const auto name = function_name(what.from, "empty");
  return function(name, "",
                  fmt::format("\nBEGIN\n{}{}  DELETE FROM {} AS held WHERE {}{};\n  RETURN NULL;\nEND\n",
                              guard(what.from), unless_twin(what), rows_of(what.from),
                              same_key(what, "held", "NEW"), fit_condition(what, " AND ")),
                  fmt::format("outboxd adopt: removes what was copied from {}", what.from.shown())) +
         fmt::format(
             "CREATE CONSTRAINT TRIGGER outboxd_empty AFTER INSERT ON {}\n  DEFERRABLE INITIALLY DEFERRED\n"
             "  FOR EACH ROW{}\n  EXECUTE FUNCTION {}();\n",
             what.from.identifier(), when(what), name);
}

// An UPDATE that moves a row to another partition inserts it there, which is not a new event. PostgreSQL
// fires these triggers for one row without interruption: BEFORE UPDATE and BEFORE DELETE of the old row,
// BEFORE INSERT of the new row, then the condition of AFTER INSERT. Each passes on the state left by the
// previous one, so no state remains for another row: DELETE continues only after an UPDATE of the same row,
// and each INSERT clears the state that it finds.
//
// A user's trigger that returns null ends this sequence early. Therefore ours fire last (~ sorts after
// letters) where the operation may still be cancelled, and first (!) where the state is used.
std::string move_guard(const adoption& what) {
  const auto name = function_name(what.from, "move");
  auto out = function(name, "",
                      fmt::format(R"(
DECLARE
  row_state CONSTANT text := {};
BEGIN
  IF TG_OP OPERATOR(pg_catalog.=) 'UPDATE' THEN
    PERFORM pg_catalog.set_config(row_state, pg_catalog.concat('update ', TG_RELID, ' ', OLD.ctid), true);
  ELSIF TG_OP OPERATOR(pg_catalog.=) 'DELETE' THEN
    PERFORM pg_catalog.set_config(row_state, 'moving', true);
    RETURN OLD;
  ELSIF pg_catalog.current_setting(row_state, true) OPERATOR(pg_catalog.=) 'moving' THEN
    PERFORM pg_catalog.set_config(row_state, 'moved', true);
  ELSE
    PERFORM pg_catalog.set_config(row_state, '', true);
  END IF;
  RETURN NEW;
END
)",
                                  row_state_name_in_function),
                      fmt::format("outboxd adopt: tells moved rows of {} from new ones", what.from.shown()));
  const auto is_updated =
      fmt::format("{} OPERATOR(pg_catalog.=) pg_catalog.concat('update ', OLD.tableoid, ' ', OLD.ctid)",
                  row_state_in_condition);
  const auto is_left = fmt::format("{} OPERATOR(pg_catalog.<>) ''", row_state_in_condition);
  for (const auto& [trigger, time, condition] :
       {std::tuple<std::string_view, std::string_view, std::string>{"~outboxd_update", "UPDATE", ""},
        {"~outboxd_delete", "DELETE", is_updated},
        {"!outboxd_insert", "INSERT", is_left}})
    out += fmt::format("CREATE TRIGGER \"{}\" BEFORE {} ON {}\n  FOR EACH ROW{}\n  EXECUTE FUNCTION {}();\n",
                       trigger, time, what.from.identifier(),
                       condition.empty() ? "" : fmt::format(" WHEN ({})", condition), name);
  return out;
}

std::string order(const adoption& what, std::string_view place) {
  std::string out;
  const auto add = [&](const std::string& sql) { out += (out.empty() ? " ORDER BY " : ", ") + sql; };
  for (const auto& column : what.order_by)
    add(column == "ctid" ? std::string(place) : "NEW." + quoted_name(column));
  for (const auto& column : what.from.primary_key) add("NEW." + quoted_name(column));
  return out;
}

}  // namespace

std::string lock_statement(const source_table& table) {
  return fmt::format("LOCK TABLE {} IN {} MODE;\n", table.identifier(),
                     table.adoption ? "ACCESS EXCLUSIVE" : "SHARE ROW EXCLUSIVE");
}

std::string removal_statements(const source_table& table) {
  std::string out;
  if (!table.adoption) return out;
  for (const auto& one : table.adoption->triggers)
    out += fmt::format("DROP TRIGGER {} ON {};\n", quoted_name(one), table.identifier());
  for (const auto& one : table.adoption->functions) out += fmt::format("DROP FUNCTION {}();\n", one);
  return out;
}

std::string adoption_statements(const adoption& what, const std::string& backlog_taken) {
  const bool kept = what.keeps || (what.from.adoption && what.from.adoption->kept);
  std::string comment = fmt::format("outboxd adopt: copies into {}.event what is inserted into {}; kept={}",
                                    what.outbox.name(), what.from.shown(), kept ? "yes" : "no");
  if (!backlog_taken.empty()) comment += " backlog=" + backlog_taken;
  auto out = copy_function(what, comment) + copy_trigger(what);
  if (!what.keeps) out += emptying(what);
  if (what.from.partitioned) out += move_guard(what);
  return out;
}

backlog_statements backlog_of(const adoption& what) {
  const auto table = rows_of(what.from);
  if (!what.keeps) {
    // Exactly the deleted rows are inserted, even if other sessions change these rows, and none is inserted
    // twice.
    const auto place = what.from.partitioned ? "" : ", new.ctid AS outboxd_place";
    const auto take = fmt::format(
        "WITH gone AS (DELETE FROM {} AS new{} RETURNING new.*{})\n{}\nSELECT{}\nFROM gone AS new{}", table,
        backlog_condition(what, " WHERE "), place, insert_head(what), expressions(what),
        order(what, "NEW.outboxd_place"));
    return {{take}, {take}};
  }
  const auto insert =
      fmt::format("{}\nSELECT{}\nFROM {} AS new", insert_head(what), expressions(what), table);
  const auto ordered = order(what, "NEW.ctid");
  if (what.from.primary_key.empty()) return {{}, {insert + backlog_condition(what, " WHERE ") + ordered}};
  std::string key;
  for (const auto& column : what.from.primary_key)
    key += (key.empty() ? "new." : ", new.") + quoted_name(column);
  // The first pass copies the rows of one snapshot, which contains no row of an aggregate without its
  // predecessors.
  return {{fmt::format("CREATE TEMPORARY TABLE outboxd_taken ON COMMIT DROP AS SELECT {} FROM {} AS new{}",
                       key, table, backlog_condition(what, " WHERE ")),
           "ANALYZE pg_temp.outboxd_taken",
           fmt::format("{} JOIN pg_temp.outboxd_taken AS taken ON {}{}", insert,
                       same_key(what, "taken", "NEW"), ordered)},
          {fmt::format("{} WHERE NOT EXISTS (SELECT FROM pg_temp.outboxd_taken AS taken WHERE {}){}{}",
                       insert, same_key(what, "taken", "NEW"), backlog_condition(what, " AND "), ordered)}};
}

}  // namespace outboxd::app
