// The three roles: what each may do, and that it may do nothing else.
#include <doctest/doctest.h>

#include "login.hpp"
#include "stage.hpp"

namespace outboxd::test::roles_test {
namespace {

// The SQLSTATE that a statement is refused with; empty if it is not.
std::string refusal(database& session, const std::string& sql) {
  try {
    session.exec(sql);
    return "";
  } catch (const database_error& error) {
    return error.sqlstate;
  }
}

constexpr auto insufficient_privilege = "42501";

}  // namespace

TEST_CASE("outbox_writer may insert and emit and nothing else") {
  const stage on;
  const login writer{"outbox_writer"};
  database session{writer.url(on)};
  session.exec(
      "INSERT INTO outbox.event (id, aggregate_type, aggregate_id, event_type, payload, headers, exchange, "
      "routing_key,"
      " available_at) VALUES (gen_random_uuid(), 'order', '1', $1, '{}', '{}', 'outbox', $1, now())",
      {on.key()});
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " VALUES ('order', '1', $1, '{}')",
      {on.key()});
  session.exec("SELECT outbox.emit('order', '1', $1, '{}', '{}', now(), gen_random_uuid())", {on.key()});
  session.exec("SELECT outbox.emit('order', '2', $1, '{}', available_at => now() + interval '1 year')",
               {on.key()});
  CHECK(session.number("INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
                       " VALUES ('order', '3', $1, '{}') RETURNING seq",
                       {on.key()}) > 0);
  const std::string insert = "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, ";
  for (const std::string& sql : {
           std::string("SELECT * FROM outbox.event"),
           std::string("SELECT payload FROM outbox.event"),
           std::string("SELECT status FROM outbox.event"),
           std::string("UPDATE outbox.event SET status = 'published'"),
           std::string("DELETE FROM outbox.event"),
           std::string("TRUNCATE outbox.event"),
           std::string("SELECT * FROM outbox.shard"),
           std::string("UPDATE outbox.shard SET seq = 0"),
           std::string("SELECT outbox.requeue('{}', 'dead')"),
           std::string("SELECT outbox.audit_begin('retry', '--all')"),
           std::string("SELECT outbox.audit_write('retry', '--all', 1)"),
           std::string("SELECT * FROM outbox.audit"),
           std::string("SELECT * FROM outbox.discarded"),
           std::string("SELECT outbox.dead_retry('{}')"),
           std::string("SELECT outbox.dead_discard('{}')"),
           std::string("SELECT outbox.replay('{}')"),
           std::string("SELECT outbox.prune_published(now(), 1)"),
           std::string("SELECT outbox.prune_processed(now(), 1)"),
           std::string("SELECT outbox.first_time('c', gen_random_uuid())"),
           std::string("SELECT * FROM outbox.processed_event"),
           std::string("SELECT * FROM outbox.migration"),
           std::string("CREATE TABLE outbox.mine ()"),
           insert + "status) VALUES ('a', '1', 'e', '{}', 'published')",
           insert + "attempts) VALUES ('a', '1', 'e', '{}', 1)",
           insert + "created_at) VALUES ('a', '1', 'e', '{}', now())",
           insert + "published_at) VALUES ('a', '1', 'e', '{}', now())",
           insert + "last_error) VALUES ('a', '1', 'e', '{}', 'x')",
           insert + "exception) VALUES ('a', '1', 'e', '{}', 'parked')",
           insert + "tx) VALUES ('a', '1', 'e', '{}', '3')",
           insert + "deferrals) VALUES ('a', '1', 'e', '{}', 1)",
           insert + "seq) OVERRIDING SYSTEM VALUE VALUES ('a', '1', 'e', '{}', 1)",
       })
    CHECK_MESSAGE(refusal(session, sql) == insufficient_privilege, sql);
  CHECK(on.count("pending") == 5);
}

TEST_CASE("outbox_relay is enough to relay with and may neither insert nor change what was written") {
  const stage on;
  const login user{"outbox_relay"};
  auto admin = on.connect();
  // One of each kind: published, returned, parked, dead, due.
  admin.exec("SELECT outbox.emit('order', '1', $1, '{}')", {on.key()});
  admin.exec("SELECT outbox.emit('order', '2', $1, '{}')", {"unbound-" + on.queue()});
  admin.exec("SELECT outbox.emit('order', '2', $1, '{}')", {on.key()});
  admin.exec("SELECT outbox.emit('order', '3', repeat('x', 256), '{}')");
  admin.exec("SELECT outbox.emit('order', '4', $1, '{}', available_at => now() + interval '1 s')",
             {on.key("scheduled")});
  relay running{on, {"--relay-clock-tolerance", "0s"}, {{"OUTBOXD_DATABASE_URL", user.url(on)}}};
  running.await_connected();
  eventually("an event waits behind a returned one", [&] {
    return admin.number("SELECT count(*) FROM outbox.event WHERE exception = 'parked'") == 1;
  });
  broker{}.bind(on.queue(), "outbox", "unbound-" + on.queue());
  on.add_events(1, 10);  // by notification
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 14);
  CHECK(report.dead == 1);
  running.stop();

  database session{user.url(on)};
  for (const std::string sql :
       {"INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload) VALUES ('a', '1', 'e', "
        "'{}')",
        "SELECT outbox.emit('order', '1', 'e', '{}')", "TRUNCATE outbox.event",
        "UPDATE outbox.event SET payload = '{}'", "UPDATE outbox.event SET aggregate_id = 'x'",
        "UPDATE outbox.event SET headers = '{}'", "UPDATE outbox.event SET tx = '3'",
        "UPDATE outbox.event SET seq = 1", "DELETE FROM outbox.shard",
        "INSERT INTO outbox.migration VALUES (99, 'x')", "SELECT outbox.replay('{}')",
        "SELECT outbox.prune_published(now(), 1)", "SELECT * FROM outbox.processed_event",
        "CREATE TABLE outbox.mine ()"})
    CHECK_MESSAGE(refusal(session, sql) == insufficient_privilege, sql);
}

TEST_CASE("outbox_operator may look, retry and prune but not insert or lead") {
  const stage on;
  const login user{"outbox_operator"};
  on.add_events(1, 3);
  database session{user.url(on)};
  CHECK(session.number("SELECT count(*) FROM outbox.event") == 3);
  CHECK(session.number("SELECT count(*) FROM outbox.migration") > 0);
  session.exec("UPDATE outbox.event SET status = 'dead', last_error = 'by hand' WHERE aggregate_id = '1'");
  session.exec("DELETE FROM outbox.event WHERE aggregate_id = '1'");
  for (const std::string sql :
       {"INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload) VALUES ('a', '1', 'e', "
        "'{}')",
        "SELECT outbox.emit('order', '1', 'e', '{}')", "UPDATE outbox.event SET payload = '{}'",
        "UPDATE outbox.shard SET seq = 0", "UPDATE outbox.event SET tx = '3'", "TRUNCATE outbox.event",
        "CREATE TABLE outbox.mine ()", "SELECT outbox.first_time('c', gen_random_uuid())",
        "INSERT INTO outbox.processed_event VALUES ('c', gen_random_uuid())"})
    CHECK_MESSAGE(refusal(session, sql) == insufficient_privilege, sql);
}

TEST_CASE("a function that was granted alone asks for the role, and its hint is what this user can do") {
  const login user{"outbox_writer"};
  const stage on;
  auto owner = on.connect();
  owner.exec("GRANT USAGE ON SCHEMA outbox TO " + user.name() +
             "; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA outbox TO " + user.name());
  database session{user.url(on)};
  const std::string sql = "SELECT outbox.pause('{order}')";
  const auto words = [&] {
    try {
      session.exec(sql);
      return std::string();
    } catch (const database_error& error) {
      return std::string(error.what());
    }
  };
  CHECK_MESSAGE(words().find("GRANT outbox_operator TO") != std::string::npos, words());
  owner.exec("GRANT outbox_operator TO " + user.name());
  CHECK(words().empty());
  owner.exec("REVOKE outbox_operator FROM " + user.name() + "; ALTER USER " + user.name() +
             " NOINHERIT; GRANT outbox_operator TO " + user.name());
  CHECK_MESSAGE(words().find("SET ROLE outbox_operator") != std::string::npos, words());
  session.exec("SET ROLE outbox_operator");
  CHECK(words().empty());
}

TEST_CASE("a user without a role may do nothing in the outbox, and none of the roles can log in") {
  const stage on;
  const login user{""};
  database session{user.url(on)};
  for (const std::string sql :
       {"SELECT count(*) FROM outbox.event", "SELECT outbox.emit('order', '1', 'e', '{}')",
        "SELECT * FROM outbox.shard", "SELECT outbox.first_time('c', gen_random_uuid())",
        "SELECT outbox.dead_retry('{}')"})
    CHECK_MESSAGE(refusal(session, sql) == insufficient_privilege, sql);
  CHECK(on.connect().number(
            "SELECT count(*) FROM pg_roles WHERE NOT rolcanlogin AND NOT rolsuper AND rolname IN"
            " ('outbox_writer', 'outbox_relay', 'outbox_operator')") == 3);
}

}  // namespace outboxd::test::roles_test
