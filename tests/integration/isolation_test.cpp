// Guarantees 7 and 8: an event over which the broker closes the channel stops nobody else, and is dead when
// retry.give_up_after has passed.
#include <doctest/doctest.h>

#include "stage.hpp"
#include "support/broker_admin.hpp"

namespace outboxd::test::isolation_test {
namespace {

const arguments a_second{"--retry-give-up-after", "1s"};

void insert(database& session, const std::string& aggregate, const std::string& type,
            const std::optional<std::string>& exchange = std::nullopt, int count = 1) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, exchange)"
      " SELECT 'order', $1, $2, '{}', $3 FROM generate_series(1, $4::int)",
      {aggregate, type, exchange, std::to_string(count)});
}

void check_dead(database& session, std::int64_t count, const std::string& reason) {
  const auto rows = session.exec("SELECT attempts, last_error FROM outbox.event WHERE status = 'dead'");
  CHECK(static_cast<std::int64_t>(rows.size()) == count);
  for (const auto& row : rows) {
    CHECK(row[0] == "0");
    CHECK(row[1]->starts_with("given up after 1 s: "));
    CHECK_MESSAGE(row[1]->find("refused by the broker: " + reason) != std::string::npos, *row[1]);
  }
}

}  // namespace

TEST_CASE(
    "events for an exchange that does not exist die, and all others go through over the same connections") {
  const stage on;
  auto session = on.connect();
  session.exec("BEGIN");
  for (int i = 0; i < 6; ++i) {
    session.exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
        " SELECT 'order', a, $1, '{}' FROM generate_series(1, 50) AS a",
        {on.key()});
    insert(session, std::to_string(i), on.key(), "no-such-exchange");
  }
  session.exec("COMMIT");
  relay running{on, a_second};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.delivered == 300);
  CHECK(report.dead == 6);
  check_dead(session, 6, "404 NOT_FOUND");
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE status = 'published' AND attempts > 0") == 0);
  running.stop();
  for (const auto& line : running.all_lines())
    CHECK_MESSAGE(line.find("trying again") == std::string::npos, line);
}

TEST_CASE("the successors of an event that the broker refuses wait for its end, and then go in order") {
  const stage on;
  auto session = on.connect();
  insert(session, "a", on.key());
  insert(session, "a", on.key(), "no-such-exchange");
  insert(session, "a", on.key(), std::nullopt, 20);
  insert(session, "b", on.key(), std::nullopt, 20);
  relay running{on, a_second};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.delivered == 41);
  check_dead(session, 1, "404 NOT_FOUND");
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE aggregate_id = 'a' AND status = 'published'"
                       " AND seq > (SELECT seq FROM outbox.event WHERE status = 'dead')") == 20);
  running.stop();
}

TEST_CASE("an event for an exchange that its user may not write to is dead with 403") {
  const stage on;
  const std::string user = on.queue();
  add_user(user, "secret");
  set_permissions(user, {.write = "^outbox$"});
  const auto admin = required_environment("OUTBOXD_AMQP_URL");
  broker{}.declare_exchange(on.queue() + "-closed");
  auto session = on.connect();
  insert(session, "a", on.key(), on.queue() + "-closed");
  insert(session, "a", on.key(), std::nullopt, 5);
  insert(session, "b", on.key(), std::nullopt, 5);
  {
    relay running{
        on, a_second, {{"OUTBOXD_AMQP_URL", "amqp://" + user + ":secret" + admin.substr(admin.find('@'))}}};
    const auto report = on.check_all();
    CHECK_MESSAGE(report.sound(), report.words());
    CHECK(report.delivered == 10);
    check_dead(session, 1, "403 ACCESS_REFUSED");
    running.stop();
  }
  broker{}.delete_exchange(on.queue() + "-closed");
  delete_user(user);
}

TEST_CASE(
    "a user who has lost all rights is nobody's fault: nobody dies, and all go out when they are back") {
  const stage on;
  const std::string user = on.queue();
  add_user(user, "secret");
  const auto admin = required_environment("OUTBOXD_AMQP_URL");
  const std::vector<std::string> exchanges{on.queue() + "-1", on.queue() + "-2", on.queue() + "-3"};
  for (const auto& one : exchanges) {
    broker{}.declare_exchange(one);
    broker{}.bind(on.queue(), one, on.queue() + ".#");
  }
  set_permissions(user, {.configure = "", .write = "", .read = ""});
  relay running{on,
                {"--amqp-declare", "false"},
                {{"OUTBOXD_AMQP_URL", "amqp://" + user + ":secret" + admin.substr(admin.find('@'))}}};
  running.await_connected();
  auto session = on.connect();
  session.exec("BEGIN");
  for (const auto& one : exchanges)
    for (const char* aggregate : {"a", "b"}) insert(session, one + aggregate, on.key(), one, 3);
  session.exec("COMMIT");
  eventually(
      "all of them wait",
      [&] {
        return session.number(
                   "SELECT count(*) FROM outbox.event WHERE last_error_code = 'refused' AND waits_for IS NOT "
                   "NULL") == 6;
      },
      time_limit);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE attempts > 0 OR status = 'dead'") == 0);
  set_permissions(user, {.configure = "", .write = ".*", .read = ""});
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.delivered == 18);
  CHECK(report.dead == 0);
  running.stop();
  for (const auto& one : exchanges) broker{}.delete_exchange(one);
  delete_user(user);
}

TEST_SUITE("alone") {
  TEST_CASE(
      "bodies over the broker's own limit are dead at the first refusal, and the smaller ones go through") {
    const stage on{{.payload = "text"}};
    // RabbitMQ 3 reads its setting for each message, RabbitMQ 4 has copied it to a persistent term.
    const auto limit = [](const std::string& bytes) {
      broker_eval("ok = application:set_env(rabbit, max_message_size, " + bytes +
                  "), ok = persistent_term:put(max_message_size, " + bytes + ").");
    };
    auto session = on.connect();
    session.exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
        " SELECT 'order', size::text, $1, repeat('x', size)"
        " FROM unnest(ARRAY[1, 99999, 100000, 100001, 300000, 2, 3, 4]) AS size",
        {on.key()});
    limit("100000");
    relay running{on, a_second};
    const auto report = on.check_all();
    limit(rabbitmq_major() < 4 ? "134217728" : "16777216");
    CHECK_MESSAGE(report.sound(), report.words());
    CHECK(report.delivered == 6);
    CHECK(
        session.number("SELECT count(*) FROM outbox.event WHERE status = 'dead' AND attempts = 1"
                       " AND last_error_code = 'unencodable' AND last_error LIKE '%the broker takes 100000 %'"
                       " AND last_error LIKE '%406 PRECONDITION_FAILED%'") == 2);
    running.stop();
  }
}

}  // namespace outboxd::test::isolation_test
