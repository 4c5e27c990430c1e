// privilege_checks: whether the relay's user may do what a relay does.
#include <fmt/format.h>

#include <algorithm>

#include "app/check/checks.hpp"

namespace outboxd::app::check {
namespace {

// What a relay cannot do without, and whatever else is granted to outbox_relay in this schema. Of an event
// DELETE is asked for only with relay.after_publish = delete or a retention.published. {0}: the schema as
// text, {1}: 'DELETE' where that is not needed, else '', {2}: so for the function of retention.processed.
constexpr std::string_view missing = R"(
WITH here AS (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = {0}),
granted AS (
  SELECT c.oid, c.relname, c.relkind, a.privilege_type AS what, NULL::text AS col
  FROM pg_class AS c CROSS JOIN aclexplode(c.relacl) AS a
  WHERE c.relnamespace IN (SELECT h.oid FROM here AS h) AND pg_get_userbyid(a.grantee) = 'outbox_relay'
  UNION ALL
  SELECT c.oid, c.relname, c.relkind, a.privilege_type, t.attname::text
  FROM pg_class AS c JOIN pg_attribute AS t ON t.attrelid = c.oid CROSS JOIN aclexplode(t.attacl) AS a
  WHERE c.relnamespace IN (SELECT h.oid FROM here AS h) AND pg_get_userbyid(a.grantee) = 'outbox_relay'
  UNION ALL
  SELECT c.oid, c.relname, c.relkind, v.what, v.col
  FROM (VALUES ('migration', 'SELECT', NULL), ('event', 'SELECT', NULL), ('event', 'DELETE', NULL),
               ('event', 'UPDATE', 'status'), ('event', 'UPDATE', 'exception'),
               ('event', 'UPDATE', 'attempts'), ('event', 'UPDATE', 'deferrals'),
               ('event', 'UPDATE', 'available_at'), ('event', 'UPDATE', 'published_at'),
               ('event', 'UPDATE', 'last_error'), ('event', 'UPDATE', 'last_error_code'),
               ('event', 'UPDATE', 'last_error_scope'), ('event', 'UPDATE', 'first_failed_at'),
               ('event', 'UPDATE', 'waits_for'), ('event', 'UPDATE', 'failed_exchange'),
               ('event', 'UPDATE', 'failed_routing_key'),
               ('shard', 'SELECT', NULL), ('shard', 'UPDATE', NULL)) AS v (name, what, col)
  JOIN pg_class AS c ON c.relname = v.name AND c.relnamespace IN (SELECT h.oid FROM here AS h))
SELECT m.* FROM (
SELECT DISTINCT g.what, coalesce(quote_ident(g.col), ''),
       CASE g.relkind WHEN 'S' THEN 'SEQUENCE ' ELSE '' END || format('%I.%I', {0}, g.relname)
FROM granted AS g
WHERE NOT CASE WHEN g.relkind = 'S' THEN has_sequence_privilege(g.oid, g.what)
               WHEN g.col IS NULL THEN has_table_privilege(g.oid, g.what)
               ELSE has_column_privilege(g.oid, g.col, g.what) END
  AND NOT (g.relname = 'event' AND g.what = {1})
UNION ALL
SELECT DISTINCT 'EXECUTE', '', format('FUNCTION %s', p.oid::regprocedure)
FROM pg_proc AS p CROSS JOIN aclexplode(p.proacl) AS a
WHERE p.pronamespace IN (SELECT h.oid FROM here AS h)
  AND (pg_get_userbyid(a.grantee) = 'outbox_relay' OR p.proname = 'forget_processed')
  AND NOT has_function_privilege(p.oid, 'EXECUTE') AND p.proname <> {2}
  AND (p.proname NOT IN ('rotate_partition', 'drop_partition') OR EXISTS (
    SELECT FROM pg_class AS e
    WHERE e.relnamespace = p.pronamespace AND e.relname = 'event' AND e.relkind = 'p'))
) AS m (what, col, object)
ORDER BY starts_with(m.object, 'FUNCTION '), m.object, m.what, m.col)";

std::string privilege(const pg::rows& of, int row) {
  return fmt::format("{}{}", of.at(row, 0),
                     of.at(row, 1).empty() ? std::string() : fmt::format(" ({})", of.at(row, 1)));
}

}  // namespace

finding check_privileges(context& of) {
  const auto deletes = relay::retention_of(of.configured().relay);
  const bool keeps = of.database().after_publish == store::after_publish::keep && !deletes.published;
  const auto lacks = of.ask(fmt::format(missing, of.schema_literal(), keeps ? "'DELETE'" : "''",
                                        deletes.processed ? "''" : "'forget_processed'"));
  if (!lacks) return not_checked(lacks.error().message);
  if (lacks->size() == 0) return ok(fmt::format("user {} may do what a relay does", of.known.user));
  std::string all;
  constexpr int most = 3;
  for (int i = 0; i < std::min(most, lacks->size()); ++i)
    all += fmt::format("{}{} on {}", i == 0 ? "" : ", ", privilege(*lacks, i), lacks->at(i, 2));
  if (lacks->size() > most) all += fmt::format(" and {} more", lacks->size() - most);
  const auto words = fmt::format("user {} lacks {}", of.known.user, all);
  const auto role = of.ask(
      "SELECT pg_has_role(r.oid, 'MEMBER'), pg_has_role(r.oid, 'USAGE') FROM pg_roles AS r WHERE r.rolname = "
      "'outbox_relay'");
  if (!role || role->size() == 0)
    return failure(words, "outboxd migrate --print  # makes the role outbox_relay, which is gone; grant it");
  if (role->at(0, 0) == "f")
    return failure(words, fmt::format("GRANT outbox_relay TO {};", sql_name(of.known.user)));
  if (role->at(0, 1) == "f")
    return failure(
        words + ": it is a member of outbox_relay and does not inherit its rights",
        fmt::format("ALTER ROLE {0} INHERIT; GRANT outbox_relay TO {0};", sql_name(of.known.user)));
  std::string grants;
  for (int i = 0; i < lacks->size(); ++i)
    grants += fmt::format("{}GRANT {} ON {} TO outbox_relay;", i == 0 ? "" : " ", privilege(*lacks, i),
                          lacks->at(i, 2));
  return failure(words, grants);
}

}  // namespace outboxd::app::check
