// pg_shown_statement_test: what is logged of somebody's SQL, and that no literal is.
#include <doctest/doctest.h>

#include "pg/shown_statement.hpp"

namespace pg_shown_statement_test {

using outboxd::pg::shown_statement;

TEST_CASE("a statement without literals is shown whole, on one line") {
  CHECK(shown_statement("LOCK TABLE outbox.event IN SHARE MODE") == "LOCK TABLE outbox.event IN SHARE MODE");
  CHECK(shown_statement(" VACUUM\n\t (FULL)  \"Shop\".event2; ") == "VACUUM (FULL) \"Shop\".event2;");
  CHECK(shown_statement("").empty());
}

TEST_CASE("a statement is shown up to its first literal, parameter or comment") {
  for (const char* rest :
       {"'canary'", "E'canary'", "$1", "$$canary$$", "4711", "/* canary */", "--canary\n", "-1 canary"}) {
    CAPTURE(rest);
    const auto shown = shown_statement(std::string("SELECT f(a, ") + rest);
    CHECK(shown.starts_with("SELECT f(a, "));
    CHECK(shown.ends_with("..."));
    CHECK(shown.find("canary") == std::string::npos);
    CHECK(shown.find('4') == std::string::npos);
  }
}

TEST_CASE("a long statement is cut, and bytes that are no plain text are replaced") {
  CHECK(shown_statement(std::string(500, 'x')) == std::string(200, 'x').append("..."));
  CHECK(shown_statement("SELECT \x1b[31m") == "SELECT ?[...");
  CHECK(shown_statement("SELECT \xff\xfe") == "SELECT ??");
}

}  // namespace pg_shown_statement_test
