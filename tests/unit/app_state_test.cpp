// app_state_test: what the files of sql/ make is taken from them, and asked about.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/schema/declared.hpp"
#include "app/schema/differences.hpp"

namespace app_state_test {

using namespace outboxd;
using namespace outboxd::app;

TEST_CASE("a declaration ends before the next one, or at an empty line outside of a body") {
  const auto found = declarations_in(
      "-- Above.\nCREATE TABLE IF NOT EXISTS @schema@.a (\n  x text,  -- why\n  y text\n)\n-- within\nWITH "
      "(z);\n"
      "COMMENT ON TABLE @schema@.a IS 'a';\n\nDROP TABLE @schema@.b;\n\n"
      "CREATE INDEX a_x ON @schema@.a (x);\nCREATE INDEX a_y ON @schema@.a (y);\n\n"
      "CREATE OR REPLACE FUNCTION @schema@.f(a integer) RETURNS void AS $outboxd$\n-- kept\n\nCREATE TABLE c "
      "(\n"
      "$outboxd$;\nCREATE TYPE @schema@.t AS ENUM ('a');\n\n"
      "ALTER TABLE @schema@.a ADD COLUMN IF NOT EXISTS w bigint NOT NULL DEFAULT 0;\n");
  REQUIRE(found.size() == 6);
  CHECK(found[0].kind == "table");
  CHECK(found[0].name == "a");
  CHECK(found[0].statement ==
        "CREATE TABLE IF NOT EXISTS @schema@.a (\n  x text,\n  y text\n)\nWITH (z);\n"
        "COMMENT ON TABLE @schema@.a IS 'a';");
  CHECK(found[1].statement == "CREATE INDEX a_x ON @schema@.a (x);");
  CHECK(found[2].name == "a_y");
  CHECK(found[3].kind == "function");
  CHECK(found[3].statement ==
        "CREATE OR REPLACE FUNCTION @schema@.f(a integer) RETURNS void AS $outboxd$\n"
        "-- kept\n\nCREATE TABLE c (\n$outboxd$;");
  CHECK(found[4].kind == "type");
  CHECK(found[5].kind == "column");
  CHECK(found[5].name == "a");
}

TEST_CASE("everything that the files make is declared") {
  std::set<std::string> seen;
  for (const auto& one : all_declarations({})) {
    CHECK_MESSAGE(one.statement.ends_with(one.kind == "column" ? "" : ";"), one.name);
    seen.insert(fmt::format("{} {}", one.kind, one.name));
  }
  for (const char* const one : {"type event_status",
                                "type event_exception",
                                "table migration",
                                "table event",
                                "table shard",
                                "table processed_event",
                                "table audit",
                                "table discarded",
                                "table pause",
                                "table partitioning",
                                "table event_partition",
                                "index event_order",
                                "index event_tx",
                                "index event_due",
                                "index event_held",
                                "index event_dead",
                                "index event_waits",
                                "index event_refused",
                                "function emit",
                                "function ring",
                                "function require_role",
                                "trigger event_take_over",
                                "trigger event_keep_place",
                                "trigger event_agree_on_status"})
    CHECK_MESSAGE(seen.contains(one), one);
}

TEST_CASE("no setting that only a superuser may set is in a function's SET clause") {
  for (const auto& one : all_declarations({})) {
    const auto head = one.statement.substr(0, one.statement.find("$outboxd$"));
    for (auto at = head.find("SET "); at != std::string::npos; at = head.find("SET ", at + 1))
      CHECK_MESSAGE(head.substr(at, head.find(" =", at) - at).find('.') == std::string::npos, one.name);
  }
}

TEST_CASE("every query for differences is filled in") {
  for (const auto& part : state_parts) {
    const auto sql = state_query(part, *pg::schema_name::parse("outbox"), {});
    CHECK_FALSE(sql.empty());
    for (const char* const left : {"@migrations@", "@rights@", "@declared@", "@statements@", "@schema"})
      CHECK(sql.find(left) == std::string::npos);
  }
}

}  // namespace app_state_test
