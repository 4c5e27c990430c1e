// first_time: true in exactly one transaction that commits, for a consumer with no more rights than it needs.
#include <doctest/doctest.h>

#include <future>

#include "login.hpp"
#include "stage.hpp"

namespace outboxd::test::first_time_test {
namespace {

constexpr auto event = "11111111-2222-3333-4444-555555555555";

std::string first_time(database& session, const std::string& consumer = "shipping",
                       const std::string& id = event) {
  return session.value("SELECT outbox.first_time($1, $2::uuid)", {consumer, id});
}

void await_blocked(database& session, int pid) {
  eventually(
      "it waits for the other transaction",
      [&] {
        return session.number("SELECT cardinality(pg_blocking_pids($1::int))", {std::to_string(pid)}) > 0;
      },
      time_limit);
}

}  // namespace

TEST_CASE("first_time is true once for each consumer and event, and again after a rollback") {
  const stage on;
  auto session = on.connect();
  session.exec("BEGIN");
  CHECK(first_time(session) == "t");
  CHECK(first_time(session) == "f");  // in the same transaction, too
  session.exec("ROLLBACK");
  CHECK(first_time(session) == "t");
  CHECK(first_time(session) == "f");
  CHECK(first_time(session, "billing") == "t");
  CHECK(first_time(session, "shipping", "11111111-2222-3333-4444-666666666666") == "t");
  CHECK(session.number("SELECT count(*) FROM outbox.processed_event WHERE processed_at <= now()") == 3);
  CHECK_THROWS_AS(first_time(session, ""), database_error);
}

TEST_CASE("first_time waits for an open transaction: false if that commits, true if it rolls back") {
  for (const std::string end : {"COMMIT", "ROLLBACK"}) {
    CAPTURE(end);
    const stage on;
    auto session = on.connect();
    auto one = on.connect();
    auto other = on.connect();
    one.exec("BEGIN");
    CHECK(first_time(one) == "t");
    auto answer = std::async(std::launch::async, [&] { return first_time(other); });
    await_blocked(session, other.backend_pid());
    one.exec(end);
    CHECK(answer.get() == (end == "COMMIT" ? "f" : "t"));
  }
}

TEST_CASE(
    "in REPEATABLE READ and SERIALIZABLE first_time fails with 40001 where it cannot see why it is false") {
  for (const std::string level : {"REPEATABLE READ", "SERIALIZABLE"}) {
    CAPTURE(level);
    const stage on;
    auto one = on.connect();
    auto other = on.connect();
    other.exec("BEGIN ISOLATION LEVEL " + level + "; SELECT 1");
    CHECK(first_time(one) == "t");
    std::string sqlstate;
    try {
      first_time(other);
    } catch (const database_error& error) {
      sqlstate = error.sqlstate;
    }
    CHECK(sqlstate == "40001");
    other.exec("ROLLBACK; BEGIN ISOLATION LEVEL " + level);
    CHECK(first_time(other) == "f");
    other.exec("COMMIT");
  }
}

TEST_CASE("a consumer needs no more than what the documentation grants, and can do no more with it") {
  const stage on;
  const login user{""};
  database session{user.url(on)};
  const auto refusal = [&](const std::string& sql) -> std::string {
    try {
      session.exec(sql);
      return "";
    } catch (const database_error& error) {
      return error.sqlstate;
    }
  };
  const auto call = fmt::format("SELECT outbox.first_time('shipping', '{}')", event);
  CHECK(refusal(call) == "42501");
  auto admin = on.connect();
  admin.exec(
      fmt::format("GRANT USAGE ON SCHEMA outbox TO {0};"
                  "GRANT EXECUTE ON FUNCTION outbox.first_time(text, uuid) TO {0};"
                  "GRANT INSERT (consumer_name, event_id) ON outbox.processed_event TO {0}",
                  user.name()));
  CHECK(first_time(session) == "t");
  CHECK(first_time(session) == "f");
  for (const std::string sql :
       {"SELECT * FROM outbox.processed_event", "DELETE FROM outbox.processed_event",
        "UPDATE outbox.processed_event SET consumer_name = 'x'", "SELECT * FROM outbox.event",
        "INSERT INTO outbox.processed_event VALUES ('x', gen_random_uuid(), 'infinity')",
        "SELECT outbox.prune_processed(now(), 1)", "SELECT outbox.emit('a', '1', 'e', '{}')"})
    CHECK_MESSAGE(refusal(sql) == "42501", sql);
  admin.exec(fmt::format("DROP OWNED BY {}", user.name()));
}

}  // namespace outboxd::test::first_time_test
