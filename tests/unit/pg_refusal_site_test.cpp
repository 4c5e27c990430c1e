#include "pg/refusal_site.hpp"

#include <doctest/doctest.h>

#include "pg/sqlstate.hpp"

namespace outboxd::pg::pg_refusal_site_test {

constexpr std::string_view audit =
    "SQL statement \"INSERT INTO audit_log VALUES ('canary')\"\nPL/pgSQL function audit() line 1 at SQL "
    "statement";

TEST_CASE(
    "what a trigger may not do is told with the grant that it needs, and without its statement's text") {
  for (const auto& [message, grant] : {
           std::pair{"permission denied for table audit_log", "GRANT INSERT ON TABLE audit_log TO relay"},
           std::pair{"permission denied for view Audit \"x\"",
                     "GRANT INSERT ON TABLE \"Audit \"\"x\"\"\" TO relay"},
           std::pair{"permission denied for sequence s_1", "GRANT USAGE ON SEQUENCE s_1 TO relay"},
           std::pair{"permission denied for schema audit", "GRANT USAGE ON SCHEMA audit TO relay"},
           std::pair{"permission denied for function f", "GRANT EXECUTE ON FUNCTION f TO relay"},
       })
    CHECK(site_of({.sqlstate = "42501", .message = message, .context = audit}, "relay") ==
          std::string("; in the function audit(); ") + grant +
              ", or ALTER FUNCTION audit() SECURITY DEFINER");
  // In another language, or another kind of refusal.
  for (const char* message : {"keine Berechtigung für Tabelle audit_log", "must be owner of table audit_log",
                              "permission denied for table ", "permission denied for "})
    CHECK(site_of({.sqlstate = "42501", .message = message, .context = audit}, "relay") ==
          "; in the function audit(); ALTER FUNCTION audit() SECURITY DEFINER");
}

TEST_CASE("what the relay itself may not do is not told of a function") {
  CHECK(site_of({.sqlstate = "42501", .message = "permission denied for table event"}, "relay").empty());
}

TEST_CASE("a user lacks a right unless a statement of somebody's function was refused") {
  CHECK(is_denial({.sqlstate = "42501", .message = "permission denied for table event"}));
  CHECK_FALSE(is_denial({.sqlstate = "42P01", .message = "no such table"}));
  CHECK_FALSE(is_denial({.sqlstate = "42501", .message = "permission denied", .context = audit}));
  // A function of the outbox asks for the role itself.
  CHECK(is_denial({.sqlstate = "42501", .source_file = "pl_exec.c", .context = audit}));
  CHECK(site_of({.sqlstate = "42501", .source_file = "pl_exec.c", .context = audit}, "relay") ==
        "; in the function audit()");
}

TEST_CASE("a login that is refused for the database is told what to grant, in any language") {
  CHECK(site_of_login("42501", "keine Berechtigung für Datenbank »shop«", "shop", "relay") ==
        "; GRANT CONNECT ON DATABASE shop TO relay");
  CHECK(site_of_login("42501", "permission denied for database \"a b\"", "a b", "r-1") ==
        "; GRANT CONNECT ON DATABASE \"a b\" TO \"r-1\"");
  CHECK(site_of_login("42501", "permission denied to set parameter \"x\"", "shop", "relay").empty());
  CHECK(site_of_login("28P01", "password authentication failed for \"shop\"", "shop", "relay").empty());
}

TEST_CASE("a foreign key is told by the catalog's names, and what refers to an event with what to do") {
  error_fields refers{.sqlstate = "23503",
                      .message = "update or delete on table \"event\" violates foreign key constraint",
                      .source_file = "ri_triggers.c",
                      .schema = "public",
                      .table = "Note",
                      .constraint = "note_of_event"};
  CHECK(site_of(refers, "relay") ==
        "; constraint note_of_event of public.\"Note\"; delete the rows that refer to the event first, or "
        "make the "
        "key ON DELETE CASCADE or SET NULL");
  refers.message = "insert or update on table \"Note\" violates foreign key constraint";
  CHECK(site_of(refers, "relay") == "; constraint note_of_event of public.\"Note\"");
  refers.source_file = "pl_exec.c";  // a function may name anything
  CHECK(site_of(refers, "relay").empty());
}

TEST_CASE(
    "what a rule has replaced is told of with what to do, and other features that are missing are not") {
  error_fields replaced{.sqlstate = "0A000",
                        .message = "cannot perform UPDATE RETURNING on relation \"event\""};
  CHECK(site_of(replaced, "relay").find("drop the rule that `outboxd check` names") != std::string::npos);
  replaced.message = "cached plan must not change result type";
  CHECK(site_of(replaced, "relay").empty());
}

TEST_CASE("of the context only the outermost function is told, and no text of a statement") {
  CHECK(function_of(audit) == "audit()");
  CHECK(
      function_of(
          "PL/pgSQL function inner(text) line 2 at RAISE\nPL/pgSQL function outer_one() line 4 at PERFORM") ==
      "outer_one()");
  CHECK(function_of("").empty());
  CHECK(function_of("SQL statement \"SELECT 1\nPL/pgSQL function canary() line 1\"").empty());
  CHECK(function_of("SQL function \"f\" statement 1").empty());
}

TEST_CASE("where a site is told it takes the place of the general remedy") {
  const auto why = refused_statement("42501", "permission denied for table audit_log", spoken_by::server,
                                     "; in the function audit()");
  CHECK(why.message ==
        "PostgreSQL refused a statement: permission denied for table audit_log (SQLSTATE 42501); in the "
        "function "
        "audit()");
  CHECK(why.kind == fault::permanent);
}

}  // namespace outboxd::pg::pg_refusal_site_test
