// pg_schema_name_test: schema names that SQL has to be told apart from SQL.
#include <doctest/doctest.h>

#include "pg/schema_name.hpp"

namespace pg_schema_name_test {

using namespace outboxd;
using outboxd::pg::schema_name;

namespace {

std::string refusal(std::string_view name) {
  const auto parsed = schema_name::parse(name);
  return parsed ? "" : parsed.error().message;
}
bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("a name is kept as it is and quoted as an identifier and as a literal") {
  struct {
    std::string name, identifier, literal;
  } const all[] = {
      {"outbox", R"("outbox")", "'outbox'"},
      {"OutBox", R"("OutBox")", "'OutBox'"},
      {R"(a"b)", R"("a""b")", R"('a"b')"},
      {"a'b", R"("a'b")", "'a''b'"},
      {R"(a\b)", R"("a\b")", R"( E'a\\b')"},
      {R"(a\'b)", R"("a\'b")", R"( E'a\\''b')"},
      {"a.b; DROP", R"("a.b; DROP")", "'a.b; DROP'"},
      {"$$x", R"("$$x")", "'$$x'"},
      {"schéma", R"("schéma")", "'schéma'"},
      {" ", R"(" ")", "' '"},
  };
  for (const auto& one : all) {
    CAPTURE(one.name);
    const auto parsed = schema_name::parse(one.name);
    REQUIRE(parsed.has_value());
    CHECK(parsed->name() == one.name);
    CHECK(parsed->identifier() == one.identifier);
    CHECK(parsed->literal() == one.literal);
  }
}

TEST_CASE("a name has 1 to 63 bytes, counted in bytes") {
  CHECK(has(refusal(""), "empty"));
  CHECK(schema_name::parse(std::string(63, 'x')).has_value());
  CHECK(has(refusal(std::string(64, 'x')), "64 bytes"));
  std::string wide;
  for (int i = 0; i < 32; ++i) wide += "é";
  CHECK(has(refusal(wide), "64 bytes"));
}

TEST_CASE("names that PostgreSQL or our function bodies cannot have are refused with the setting's name") {
  for (const std::string_view bad :
       {std::string_view("pg_outbox"), std::string_view("a$outboxd$b"), std::string_view("a\0b", 3)}) {
    const std::string words = refusal(bad);
    CHECK(has(words, "outbox.schema"));
    CHECK_FALSE(has(words, std::string_view("\0", 1)));
  }
  CHECK(schema_name::parse("pgoutbox").has_value());
  CHECK(schema_name::parse("a$outboxd").has_value());
}

}  // namespace pg_schema_name_test
