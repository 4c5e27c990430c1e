// commit_checks: whether what writers commit is on disk before others see it.
#include <fmt/format.h>

#include "app/check/checks.hpp"

namespace outboxd::app::check {
namespace {

// Where synchronous_commit is off, each with its remedy: for the server, for the database, and for everybody
// or a role that may insert events, in this database or in all. A setting of a session alone is not seen.
std::string found_sql(const context& of) {
  return fmt::format(
      "SELECT 'the server', 'ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf();'"
      " FROM pg_settings AS s WHERE s.name = 'synchronous_commit' AND s.setting = 'off'"
      " AND s.source NOT IN ('database', 'user', 'database user', 'client', 'session')"
      " UNION ALL SELECT concat_ws(' in ', CASE WHEN s.setrole <> 0 THEN 'role ' || r.rolname END,"
      " CASE WHEN s.setdatabase <> 0 THEN 'database ' || current_database()"
      "      WHEN s.setrole = 0 THEN 'all roles' END),"
      " format('ALTER ROLE %s%s RESET synchronous_commit;', coalesce(quote_ident(r.rolname), 'ALL'),"
      "        CASE WHEN s.setdatabase <> 0 THEN format(' IN DATABASE %I', current_database()) END)"
      " FROM pg_db_role_setting AS s CROSS JOIN unnest(s.setconfig) AS c"
      " LEFT JOIN pg_roles AS r ON r.oid = s.setrole"
      " WHERE lower(c) IN ('synchronous_commit=off', 'synchronous_commit=false', 'synchronous_commit=no',"
      "                    'synchronous_commit=0')"
      " AND (s.setdatabase = 0"
      "      OR s.setdatabase = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database()))"
      " AND (s.setrole = 0 OR has_any_column_privilege(r.oid, format('%I.event', {}), 'INSERT'))",
      of.schema_literal());
}

}  // namespace

finding check_commits(context& of) {
  const auto found = of.ask(found_sql(of));
  if (!found) return not_checked(found.error().message);
  if (found->size() == 0) return ok("are on disk before their events go out, unless a writer says otherwise");
  std::string where;
  std::string remedy;
  for (int row = 0; row < found->size(); ++row) {
    where += fmt::format("{}{}", row == 0 ? "" : ", ", found->at(row, 0));
    remedy += fmt::format("{}{}", row == 0 ? "" : " ", found->at(row, 1));
  }
  return warning(
      fmt::format("synchronous_commit is off for {}: its transactions are visible before they are on disk, "
                  "and a crash of PostgreSQL may undo them after their events were published",
                  where),
      remedy);
}

}  // namespace outboxd::app::check
