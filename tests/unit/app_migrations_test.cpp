// app_migrations_test: the embedded SQL and what is filled into it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "app/schema/migrations.hpp"
#include "store/relay_statements.hpp"

namespace app_migrations_test {

using namespace outboxd;
using namespace outboxd::app;

namespace {

pg::schema_name schema(std::string_view name) {
  return *pg::schema_name::parse(name);
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t times = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size()))
    ++times;
  return times;
}
bool has(std::string_view text, std::string_view part) {
  return count(text, part) > 0;
}

// Everything that is filled in.
std::vector<sql_file> all_files() {
  std::vector<sql_file> out(all_object_files().begin(), all_object_files().end());
  out.insert(out.end(), migrations().begin(), migrations().end());
  return out;
}

}  // namespace

TEST_CASE("versions ascend without gaps, and names begin with their version") {
  REQUIRE_FALSE(migrations().empty());
  int expected = version_of(migrations().front());
  for (const auto& one : migrations()) {
    CHECK(version_of(one) == expected);
    CHECK(one.name.starts_with(fmt::format("{:04}_", expected++)));
    CHECK_FALSE(one.sql.empty());
  }
}

TEST_CASE("the relay's statements go with the latest migration") {
  CHECK(version_of(migrations().back()) == store::schema_version);
}

TEST_CASE("every placeholder of every file is filled in, for every type of payload") {
  const std::regex placeholder("@[a-z_]+@");
  for (const auto& one : all_files())
    for (const char* payload : {"jsonb", "json", "text", "bytea"}) {
      CAPTURE(one.name);
      const std::string sql = fill_in(one.sql, schema("outbox"), {.payload_type = payload});
      CHECK_FALSE(std::regex_search(sql, placeholder));
      CHECK(has(sql, R"("outbox")"));
    }
}

TEST_CASE("each placeholder becomes what it stands for, and other at-signs stay") {
  const auto odd = schema(R"(O"d'd)");
  CHECK(fill_in("@schema@.x", odd, {.payload_type = "text"}) == R"("O""d'd".x)");
  CHECK(fill_in("f(@schema_text@)", odd, {.payload_type = "text"}) == R"(f('O"d''d'))");
  CHECK(fill_in("@payload_type@", odd, {.payload_type = "bytea"}) == "bytea");
  CHECK(fill_in("@shards@ @notifies@", odd, {}) == "1 true");
  CHECK(fill_in("@shards@ @notifies@", odd, {.shards = 8, .notifies = false}) == "8 false");
  CHECK(has(fill_in("@bell@", odd, {}), R"( ELSE "O""d'd".ring() END)"));
  CHECK(fill_in("@lock_class@", odd, {}) == std::to_string(store::lock_class(odd)));
  CHECK(fill_in("a@b @other@ @schem @", odd, {.payload_type = "text"}) == "a@b @other@ @schem @");
  CHECK(fill_in("", odd, {.payload_type = "text"}) == "");
}

TEST_CASE("a schema that is named like a placeholder is not filled in again") {
  CHECK(fill_in("@schema@ @schema_text@", schema("@payload_type@"), {.payload_type = "text"}) ==
        R"("@payload_type@" '@payload_type@')");
}

TEST_CASE("an odd schema's name is nowhere in the SQL without its quotes") {
  const auto odd = schema(R"(O"d)");
  for (const auto& one : all_files()) {
    const std::string sql = fill_in(one.sql, odd, {});
    CAPTURE(one.name);
    CHECK(count(sql, R"(O"d)") == count(sql, R"('O"d')"));
    CHECK(count(sql, R"(O""d)") == count(sql, R"("O""d")"));
  }
}

TEST_CASE("the printed script is one statement that holds everything once, in order") {
  const auto odd = schema(R"(O"d)");
  const std::string script = whole_script(odd, {.payload_type = "bytea"});
  CHECK(script.starts_with("DO $migrate$\n"));
  CHECK(script.ends_with("\n$migrate$;\n"));
  CHECK(count(script, "$migrate$") == 2);
  CHECK(count(script, R"(CREATE SCHEMA IF NOT EXISTS "O""d";)") == 1);
  CHECK(count(script, fill_in(record_table, odd, {})) == 1);
  for (const auto& one : all_files()) {
    CAPTURE(one.name);
    CHECK(count(script, fill_in(one.sql, odd, {.payload_type = "bytea"})) ==
          (one.name != "emit_any" ? 1 : 0));
  }
  std::size_t last = 0;
  for (const char* const part :
       {"CREATE TABLE IF NOT EXISTS \"O\"\"d\".migration", "CREATE TYPE",
        "CREATE OR REPLACE FUNCTION \"O\"\"d\".refuse", "-- 0012_outbox", "CREATE TABLE", "CREATE INDEX",
        "VALUES (12, '0012_outbox')", "CREATE TRIGGER", "GRANT"}) {
    CAPTURE(part);
    const auto at = script.find(part, last);
    CHECK(at != std::string::npos);
    last = at;
  }
}

TEST_CASE("other tools find no parameter of theirs in the printed script") {
  for (const auto* const payload : {"jsonb", "bytea"}) {
    const std::string script = whole_script(schema("outbox"), {.payload_type = payload});
    // Alembic: https://docs.sqlalchemy.org/en/20/core/sqlelement.html#sqlalchemy.sql.expression.text
    CHECK_FALSE(std::regex_search(script, std::regex(R"((^|[^:\w\\]):\w+(?!\w|:))")));
    CHECK_FALSE(has(script, "${"));  // Flyway and Liquibase
  }
}

TEST_CASE(
    "more shards take the leads of all of them, have writers look at each, and say whether writers ring") {
  const auto odd = schema(R"(O"d)");
  for (const bool notifies : {true, false}) {
    const outbox_shape shape{.shards = 4, .notifies = notifies};
    const std::string script = reshape(odd, shape);
    CHECK(has(script, fmt::format("SELECT pg_advisory_xact_lock({}, s) FROM generate_series(0, 4 - 1) AS s;",
                                  store::lock_class(odd))));
    CHECK(has(script, "generate_series(0, 4 - 1)"));
    CHECK(has(script, "event ALTER tx SET DEFAULT"));
    for (const char* key : {", 64)", ", 65)", ", 66)", ", 67)"}) CHECK(has(script, key));
    CHECK(has(script, R"("O""d".shard)"));
    CHECK(has(script, notifies ? "SET rings = true;" : "SET rings = false;"));
    CHECK_FALSE(std::regex_search(script, std::regex("@[a-z_]+@")));
  }
}

TEST_CASE("two schemas have different locks, and one always the same") {
  CHECK(store::lock_class(schema("outbox")) == store::lock_class(schema("outbox")));
  CHECK(store::lock_class(schema("outbox")) != store::lock_class(schema("Outbox")));
  CHECK(store::lock_class(schema("outbox")) >= 0);
}

TEST_CASE("what is recorded is the version and the name, in the schema's own table") {
  CHECK(record_of({"0013_test", ""}, schema("Odd")) ==
        "INSERT INTO \"Odd\".migration (version, name) VALUES (13, '0013_test');\n");
  CHECK(has(fill_in(record_table, schema("Odd"), {}), R"("Odd".migration)"));
}

TEST_CASE("the four types of payload are known, and no other") {
  CHECK(parse_payload_type("jsonb") == payload_type::jsonb);
  CHECK(parse_payload_type("json") == payload_type::json);
  CHECK(parse_payload_type("text") == payload_type::text);
  CHECK(parse_payload_type("bytea") == payload_type::bytea);
  for (const char* bad : {"", "JSONB", "xml", "text; DROP TABLE x", " json"})
    CHECK_FALSE(parse_payload_type(bad).has_value());
}

}  // namespace app_migrations_test
