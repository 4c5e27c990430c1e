// database_test: the blocking session and the database of a test of its own.
#include "support/database.hpp"

#include <doctest/doctest.h>

namespace outboxd::test::database_test {

TEST_CASE("a connection string gets another database whatever its form") {
  CHECK(with_database("postgresql://u:p@h:1/old", "new") == "postgresql://u:p@h:1/new");
  CHECK(with_database("postgresql://u:p@h:1", "new") == "postgresql://u:p@h:1/new");
  CHECK(with_database("postgresql:///old?host=/run/x", "new") == "postgresql:///new?host=/run/x");
  CHECK(with_database("postgresql://h?sslmode=disable", "new") == "postgresql://h/new?sslmode=disable");
  CHECK(with_database("host=h dbname=old", "new") == "host=h dbname=old dbname=new");
}

TEST_CASE("a fresh database exists, is empty, takes statements, and is gone afterwards") {
  std::string name;
  {
    const fresh_database fresh;
    name = fresh.name();
    auto session = fresh.connect();
    CHECK(session.value("SELECT current_database()") == name);
    CHECK(session.number("SELECT count(*) FROM pg_namespace WHERE nspname = 'outbox'") == 0);
    session.exec("CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x')");
    session.exec("INSERT INTO t VALUES ($1, $2)", {"2", std::nullopt});
    const auto rows = session.exec("SELECT a, b FROM t ORDER BY a");
    CHECK(rows == result_rows{{"1", "x"}, {"2", std::nullopt}});
  }
  database server{required_environment("OUTBOXD_DATABASE_URL")};
  CHECK(server.number("SELECT count(*) FROM pg_database WHERE datname = $1", {name}) == 0);
}

TEST_CASE("an error carries the server's words and its SQLSTATE, and the session goes on") {
  database session{required_environment("OUTBOXD_DATABASE_URL")};
  try {
    session.exec("SELECT 1 / 0");
    FAIL("no error");
  } catch (const database_error& error) {
    CHECK(error.sqlstate == "22012");
    CHECK(std::string{error.what()}.find("division by zero") != std::string::npos);
  }
  CHECK(session.number("SELECT 1") == 1);
}

}  // namespace outboxd::test::database_test
