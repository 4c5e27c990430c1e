// The script of `migrate --print`, as other migration tools run it: inside their transaction, and again.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "stage.hpp"

namespace outboxd::test::printed_script_test {
namespace {

std::string script() {
  const auto printed = run_outboxd({"migrate", "--print"});
  REQUIRE(printed.exited(0));
  return printed.text();
}

program_result run_psql(const fresh_database& on) {
  const auto file = std::filesystem::temp_directory_path() / (on.name() + ".sql");
  std::ofstream{file} << script();
  auto done = run_program({.program = required_environment("OUTBOXD_TEST_PGBIN") + "/psql",
                           .arguments = {"-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", file.string(), on.url()},
                           .environment = {},
                           .log_file = {}});
  std::filesystem::remove(file);
  return done;
}

}  // namespace

TEST_CASE("the printed script is part of the transaction that runs it, and leaves its settings") {
  const fresh_database target;
  auto session = target.connect();
  session.exec("CREATE SCHEMA tool; CREATE TABLE tool.version (n integer)");
  for (const char* const end : {"ROLLBACK", "COMMIT"}) {
    session.exec("BEGIN");
    session.exec("SET LOCAL search_path = tool");
    session.exec(script());
    CHECK(session.value("SHOW search_path") == "tool");
    CHECK(session.value("SHOW check_function_bodies") == "on");
    session.exec("INSERT INTO version VALUES (1)");
    session.exec(end);
    const bool kept = std::string_view(end) == "COMMIT";
    CHECK(session.number("SELECT count(*) FROM pg_namespace WHERE nspname = 'outbox'") == (kept ? 1 : 0));
    CHECK(session.number("SELECT count(*) FROM tool.version") == (kept ? 1 : 0));
  }
  CHECK(run_outboxd({"migrate", "--check"}, {{"OUTBOXD_DATABASE_URL", target.url()}}).says("up to date"));
}

TEST_CASE("the printed script says that the outbox is there, and keeps what was changed since") {
  const fresh_database target;
  CHECK(run_psql(target).text().empty());
  REQUIRE(run_outboxd({"migrate", "--shards", "4"}, {{"OUTBOXD_DATABASE_URL", target.url()}}).exited(0));
  const auto again = run_psql(target);
  CHECK_MESSAGE(again.exited(0), again.text());
  CHECK_MESSAGE(again.says("schema outbox is already at version"), again.text());
  CHECK(target.connect().number("SELECT count(*) FROM outbox.shard") == 4);
}

TEST_CASE("the printed script refuses an outbox of another version") {
  const fresh_database target;
  REQUIRE(run_psql(target).exited(0));
  target.connect().exec("UPDATE outbox.migration SET version = 7");
  const auto again = run_psql(target);
  CHECK(again.exited(3));
  CHECK_MESSAGE(again.says("schema outbox is at version 7, and this script makes version"), again.text());
  CHECK_MESSAGE(again.says("Run outboxd migrate."), again.text());
}

}  // namespace outboxd::test::printed_script_test
