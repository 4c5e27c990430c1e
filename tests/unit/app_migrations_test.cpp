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

migration of(std::string_view sql) {
  return {.version = 1, .name = "0001_test", .sql = sql};
}

}  // namespace

TEST_CASE("versions ascend from 1 without gaps, and names begin with their version") {
  REQUIRE_FALSE(migrations().empty());
  int expected = 0;
  for (const migration& one : migrations()) {
    CHECK(one.version == ++expected);
    CHECK(one.name.starts_with(fmt::format("{:04}_", one.version)));
    CHECK_FALSE(one.sql.empty());
  }
}

TEST_CASE("the relay's statements go with the latest migration") {
  CHECK(migrations().back().version == store::schema_version);
}

TEST_CASE("every placeholder of every migration is filled in, for every type of payload") {
  const std::regex placeholder("@[a-z_]+@");
  for (const migration& one : migrations())
    for (const char* payload : {"jsonb", "json", "text", "bytea"}) {
      CAPTURE(one.name);
      const std::string sql = fill_in(one, schema("outbox"), {.payload_type = payload});
      CHECK_FALSE(std::regex_search(sql, placeholder));
      CHECK(has(sql, R"("outbox")"));
    }
}

TEST_CASE("each placeholder becomes what it stands for, and other at-signs stay") {
  const auto odd = schema(R"(O"d'd)");
  CHECK(fill_in(of("@schema@.x"), odd, {.payload_type = "text"}) == R"("O""d'd".x)");
  CHECK(fill_in(of("f(@schema_text@)"), odd, {.payload_type = "text"}) == R"(f('O"d''d'))");
  CHECK(fill_in(of("@payload_type@"), odd, {.payload_type = "bytea"}) == "bytea");
  CHECK(fill_in(of("@shards@ @notifies@"), odd, {}) == "1 true");
  CHECK(fill_in(of("@shards@ @notifies@"), odd, {.shards = 8, .notifies = false}) == "8 false");
  CHECK(has(fill_in(of("@bell@"), odd, {}), R"( ELSE "O""d'd".ring() END)"));
  CHECK(fill_in(of("@lock_class@"), odd, {}) == std::to_string(store::lock_class(odd)));
  CHECK(fill_in(of("a@b @other@ @schem @"), odd, {.payload_type = "text"}) == "a@b @other@ @schem @");
  CHECK(fill_in(of(""), odd, {.payload_type = "text"}) == "");
}

TEST_CASE("a schema that is named like a placeholder is not filled in again") {
  CHECK(fill_in(of("@schema@ @schema_text@"), schema("@payload_type@"), {.payload_type = "text"}) ==
        R"("@payload_type@" '@payload_type@')");
}

TEST_CASE("an odd schema's name is nowhere in the SQL without its quotes") {
  const auto odd = schema(R"(O"d)");
  for (const migration& one : migrations()) {
    const std::string sql = fill_in(one, odd, {});
    CAPTURE(one.name);
    CHECK(count(sql, R"(O"d)") == count(sql, R"('O"d')"));
    CHECK(count(sql, R"(O""d)") == count(sql, R"("O""d")"));
  }
}

TEST_CASE("the printed script is one transaction that holds everything once, in order") {
  const auto odd = schema(R"(O"d)");
  const std::string script = whole_script(odd, {.payload_type = "bytea"});
  CHECK(script.starts_with("BEGIN;\n"));
  CHECK(script.ends_with("COMMIT;\n"));
  CHECK(count(script, "COMMIT;") == 1);
  CHECK(count(script, R"(CREATE SCHEMA IF NOT EXISTS "O""d";)") == 1);
  CHECK(count(script, record_table(odd)) == 1);
  std::size_t last = script.find(record_table(odd));
  for (const migration& one : migrations()) {
    CAPTURE(one.name);
    for (const std::string& part : {fill_in(one, odd, {.payload_type = "bytea"}), record_of(one, odd)}) {
      CHECK(count(script, part) == 1);
      CHECK(script.find(part) > last);
      last = script.find(part);
    }
  }
}

TEST_CASE(
    "more shards take the leads of all of them, have writers look at each, and say whether writers ring") {
  const auto odd = schema(R"(O"d)");
  for (const bool notifies : {true, false}) {
    const outbox_shape shape{.shards = 4, .notifies = notifies};
    const std::string script = reshape(odd, shape);
    CHECK(count(script, "SELECT pg_advisory_xact_lock(") == 4);
    for (const char* shard : {", 0);", ", 1);", ", 2);", ", 3);"}) CHECK(has(script, shard));
    CHECK(has(script, "generate_series(0, 4 - 1)"));
    CHECK(has(script, "event ALTER tx SET DEFAULT"));
    for (const char* key : {", 64)", ", 65)", ", 66)", ", 67)"}) CHECK(has(script, key));
    CHECK(has(script, R"("O""d".shard)"));
    CHECK(has(script, notifies ? "SET rings = true;" : "SET rings = false;"));
    CHECK_FALSE(std::regex_search(script, std::regex("@[a-z_]+@|\\{[0-9]\\}")));
  }
}

TEST_CASE("two schemas have different locks, and one always the same") {
  CHECK(store::lock_class(schema("outbox")) == store::lock_class(schema("outbox")));
  CHECK(store::lock_class(schema("outbox")) != store::lock_class(schema("Outbox")));
  CHECK(store::lock_class(schema("outbox")) >= 0);
}

TEST_CASE("what is recorded is the version and the name, in the schema's own table") {
  CHECK(record_of(of(""), schema("Odd")) ==
        "INSERT INTO \"Odd\".migration (version, name) VALUES (1, '0001_test');\n");
  CHECK(has(record_table(schema("Odd")), R"("Odd".migration)"));
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
