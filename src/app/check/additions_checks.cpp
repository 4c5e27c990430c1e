// additions_checks: what users have put onto the table of events: foreign keys to it, triggers, indexes.
#include <fmt/format.h>

#include "app/check/checks.hpp"

namespace outboxd::app::check {
namespace {

// The table, and its partitions.
std::string tables_of(const context& of) {
  return fmt::format(
      "(SELECT format('%I.event', {0})::regclass::oid UNION ALL"
      " SELECT i.inhrelid FROM pg_inherits AS i WHERE i.inhparent = format('%I.event', {0})::regclass)",
      of.schema_literal());
}

}  // namespace

// CASCADE, SET NULL and SET DEFAULT let an event go, and take rows of the other table with it.
finding check_references(context& of) {
  const auto found = of.ask(fmt::format(
      "SELECT quote_ident(c.conname), c.conrelid::regclass, c.confdeltype IN ('a', 'r'),"
      " (SELECT count(*) FROM pg_constraint AS o WHERE o.contype = 'f' AND o.confrelid = c.confrelid"
      "  AND o.conparentid = 0)"
      " FROM pg_constraint AS c WHERE c.contype = 'f' AND c.conparentid = 0 AND c.confrelid IN {}"
      " ORDER BY c.confdeltype IN ('a', 'r') DESC, c.conrelid::regclass::text, c.conname LIMIT 1",
      tables_of(of)));
  if (!found) return not_checked(found.error().message);
  if (found->size() == 0) return ok("no foreign key refers to events");
  const auto name = found->at(0, 0);
  const auto table = found->at(0, 1);
  if (found->at(0, 2) == "f")
    return ok(fmt::format("the foreign key {} of {} does not keep events", name, table));
  const bool removes = of.database().after_publish == store::after_publish::remove;
  return (removes ? failure : warning)(
      fmt::format("the foreign key {} of {} refers to events: {} those that are referred to", name, table,
                  removes ? "retention.published = 0s cannot delete" : "retention and prune leave"),
      fmt::format("ALTER TABLE {} DROP CONSTRAINT {};  -- and make it again ON DELETE CASCADE or SET NULL",
                  table, name));
}

// Triggers of this program have functions in its schema. What a user's one does is done for each mark, with
// the rights of the relay's user unless its function is SECURITY DEFINER.
finding check_user_triggers(context& of) {
  const auto found = of.ask(
      fmt::format("SELECT quote_ident(t.tgname), t.tgrelid::regclass, t.tgfoid::regprocedure, p.prosecdef,"
                  " t.tgtype & 16 = 16, t.tgtype & 8 = 8"
                  " FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid"
                  " WHERE t.tgrelid IN {} AND NOT t.tgisinternal AND t.tgparentid = 0 AND t.tgenabled <> 'D'"
                  " AND t.tgtype & 24 <> 0"
                  " AND t.tgname NOT IN ('event_take_over', 'event_keep_place', 'event_agree_on_status')"
                  " ORDER BY p.prosecdef, t.tgname LIMIT 1",
                  tables_of(of)));
  if (!found) return not_checked(found.error().message);
  if (found->size() == 0) return ok("none that fires when an event is marked as published or deleted");
  const auto name = found->at(0, 0);
  const auto function = found->at(0, 2);
  const bool marks = found->at(0, 4) == "t";
  const bool deletes = found->at(0, 5) == "t";
  const auto when = marks && deletes ? "marked as published or deleted"
                    : marks          ? "marked as published"
                                     : "deleted";
  if (found->at(0, 3) == "t")
    return ok(
        fmt::format("{} fires when an event is {}, with the rights of its function's owner", name, when));
  return warning(
      fmt::format("the trigger {} of {} fires when an event is {}, with the rights of {}: if these do not "
                  "suffice, the event is not {}",
                  name, found->at(0, 1), when, of.known.user, when),
      fmt::format("ALTER FUNCTION {} SECURITY DEFINER SET search_path = pg_catalog, pg_temp;  -- or DROP "
                  "TRIGGER {} ON {};",
                  function, name, found->at(0, 1)));
}

// A mark changes these two columns. An index that depends on one, be it only by its condition, gets an entry
// for each mark, and so do all others: the mark is not HOT any more. (BRIN is left out from 16 on.)
finding check_user_indexes(context& of) {
  const auto found = of.ask(fmt::format(
      "SELECT DISTINCT i.indexrelid::regclass::text, i.indrelid::regclass::text"
      " FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_am AS m ON m.oid = c.relam"
      " JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid"
      "  AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid"
      " JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = d.refobjsubid"
      " WHERE i.indrelid IN {} AND a.attname IN ('status', 'published_at')"
      " AND NOT (m.amname = 'brin' AND current_setting('server_version_num')::integer >= 160000)"
      " ORDER BY 1 LIMIT 1",
      tables_of(of)));
  if (!found) return not_checked(found.error().message);
  if (found->size() == 0) return ok("none on a column that changes when an event is published");
  return warning(
      fmt::format("the index {} depends on status or published_at, which change when an event is published: "
                  "marking events as published costs three times as much, and the table grows",
                  found->at(0, 0)),
      fmt::format("DROP INDEX CONCURRENTLY {};", found->at(0, 0)));
}

}  // namespace outboxd::app::check
